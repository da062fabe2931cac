// The sum of the first n squares, taken on a GPU; negative if there is none.
float sum_of_squares(int n);
