// The sections that intrabench grain measures, as loops with OpenMP: README.md.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { elements = 64 };
static double x[elements], *y;
static int tasks, results;

static void work(int k, long repeat) {
  double sum = 0;
  while (repeat-- > 0) {
    double dot = 0;
    for (int i = 0; i < elements; i++) dot += x[i] * x[i];
    __asm__ volatile("" : "+x"(dot) : : "memory"); // each one is computed
    sum += dot;
  }
  for (int i = 0; i < results; i++) y[k * results + i] = sum + i;
}

static double plain(long repeat, long sections) {
  double start = omp_get_wtime();
  for (long s = 0; s < sections; s++)
    for (int k = 0; k < tasks; k++) work(k, repeat);
  return (omp_get_wtime() - start) / sections;
}

static double parallel(long repeat, long sections) {
  double start = omp_get_wtime();
  for (long s = 0; s < sections; s++) {
#pragma omp parallel for schedule(static)
    for (int k = 0; k < tasks; k++) work(k, repeat);
  }
  return (omp_get_wtime() - start) / sections;
}

int main(int argc, char **argv) {
  if (argc < 6) { fprintf(stderr, "usage: grain THREADS TASKS BYTES SECONDS WORK...\n"); return 2; }
  omp_set_num_threads(atoi(argv[1]));
  tasks = atoi(argv[2]), results = (atoi(argv[3]) + 7) / 8;
  y = calloc((size_t)tasks * results, sizeof *y);
  for (int i = 0; i < elements; i++) x[i] = i % 7 + 1;
  double unit = 1;
  for (int i = 0; i < 10; i++) { double t = plain(20000, 1) / tasks / 20000; if (t < unit) unit = t; }
  for (int i = 5; i < argc; i++) {
    double wanted = atof(argv[i]);
    long repeat = wanted / tasks / unit + 0.5, sections = atof(argv[4]) / (wanted + 1e-6) + 8;
    plain(repeat, sections / 4 + 1), parallel(repeat, sections / 4 + 1);
    printf("%.4g %.4g\n", plain(repeat, sections), parallel(repeat, sections));
  }
}
