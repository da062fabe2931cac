#include <stdio.h>

int wrong_elements(void);

int main(void) {
  int wrong = wrong_elements();
  printf("rust: %d elements wrong\n", wrong);
  return wrong != 0;
}
