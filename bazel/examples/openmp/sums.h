// The sum of the first n squares, taken on a device; *on_host tells if it was the host.
long sum_of_squares(long n, int *on_host);
