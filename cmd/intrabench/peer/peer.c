// What intrabench pingpong and collectives measure, in plain MPI: README.md.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, n;
static char op[32];
static char *part, *from, *to;

static void call(void) {
  int peer = 1 - rank;
  if (!strcmp(op, "pingpong")) {
    if (rank == 0) MPI_Send(part, n, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    MPI_Recv(part, n, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(part, n, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
  }
  else if (!strcmp(op, "barrier")) MPI_Barrier(MPI_COMM_WORLD);
  else if (!strcmp(op, "bcast")) MPI_Bcast(part, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  else if (!strcmp(op, "reduce")) MPI_Reduce(part, to, n, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  else if (!strcmp(op, "allreduce")) MPI_Allreduce(part, to, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  else if (!strcmp(op, "allgather")) MPI_Allgather(part, n, MPI_DOUBLE, to, n, MPI_DOUBLE, MPI_COMM_WORLD);
  else if (!strcmp(op, "alltoall")) MPI_Alltoall(from, n, MPI_DOUBLE, to, n, MPI_DOUBLE, MPI_COMM_WORLD);
  else { fprintf(stderr, "peer: there is no operation %s\n", op); MPI_Abort(MPI_COMM_WORLD, 2); }
}

static double batch(long calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  while (calls-- > 0) call();
  return MPI_Wtime() - start;
}

// How many calls rank 0 sees take about that long, and how long they take.
static long calibrate(double wanted, double *took) {
  for (long calls = 1;; calls *= 2) {
    *took = batch(calls);
    MPI_Bcast(took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (*took > wanted * 2 / 3) return calls;
  }
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  double seconds = argc > 2 ? atof(argv[1]) : 0, took, times[15], median, slowest;
  if (seconds <= 0) { fprintf(stderr, "usage: peer SECONDS OPERATION:SIZE...\n"); MPI_Abort(MPI_COMM_WORLD, 2); }
  if (rank == 0) printf("ranks %d\n", ranks);
  for (int i = 2; i < argc; i++) {
    if (sscanf(argv[i], "%31[^:]:%d", op, &n) != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    int pingpong = !strcmp(op, "pingpong");
    size_t size = (size_t)n * (pingpong ? 1 : sizeof(double)) + 1;
    part = calloc(size, 1), from = calloc(size, ranks), to = calloc(size, ranks);
    if (i == 2) calibrate(5 * seconds, &took); // the processes find their cores
    long calls = calibrate(seconds / 15, &took);
    int batches = seconds / took < 3 ? 3 : seconds / took > 15 ? 15 : (int)(seconds / took);
    for (int k = 0; k < batches; k++) times[k] = batch(calls) / calls / (pingpong ? 2 : 1);
    qsort(times, batches, sizeof *times, compare);
    median = batches % 2 ? times[batches / 2] : (times[batches / 2 - 1] + times[batches / 2]) / 2;
    MPI_Reduce(&median, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%s:%d %.4g\n", op, n, slowest);
    free(part), free(from), free(to);
  }
  MPI_Finalize();
}
