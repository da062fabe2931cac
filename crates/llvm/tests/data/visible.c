// A CPU device image: what the host plugin may look up, and what it may not.
__attribute__((noinline)) static int local_function(int x) { return x * 5; }
__attribute__((visibility("hidden"))) int hidden_function(int x) { return x + 2; }
int visible_function(int x) { return local_function(x); }
int variable = 3;
