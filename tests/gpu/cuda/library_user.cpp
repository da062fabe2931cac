// Plain C++: all kernels of the program come from the static library.
#include <cstdio>

int answer_of_library();

int main() {
  bool right = answer_of_library() == 42;
  std::printf("library: %s\n", right ? "right" : "WRONG");
  return !right;
}
