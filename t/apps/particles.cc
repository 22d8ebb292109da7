// SPDX-License-Identifier: BSD-3-Clause
// Mini-application in C++: particles move between ranks. Exceptions are thrown and caught through
// frames that made MPI calls; threads communicate at MPI_THREAD_MULTIPLE.
//
// particles [STEPS [PARTICLES]]: the output depends only on the arguments and the ranks.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mpi.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{

struct Particle {
    std::int64_t id, position, speed;
};

// A particle that runs into the wall throws this; the catcher turns the particle around.
class Collision : public std::runtime_error
{
  public:
    Collision(const Particle &p, std::int64_t wall)
        : std::runtime_error("particle " + std::to_string(p.id)), wall(wall)
    {
    }
    std::int64_t wall;
};

// Counts active frames in `depth`, and calls MPI when a frame is left, normally or by an exception.
class Frame
{
  public:
    explicit Frame(int &depth) : depth(depth)
    {
        ++depth;
    }
    ~Frame()
    {
        --depth;
        // an exception may be unwinding here
        MPI_Initialized(&flag);
    }
    Frame(const Frame &) = delete;
    Frame &operator=(const Frame &) = delete;

  private:
    int &depth;
    int flag = 0;
};

constexpr std::int64_t width = 1000; // width of one rank's part

void move(Particle &p, std::int64_t end, int &depth)
{
    Frame frame(depth);
    std::int64_t next = p.position + p.speed;
    if (next < 0 || next >= end)
        throw Collision(p, next < 0 ? 0 : end - 1);
    p.position = next;
}

std::vector<Particle> exchange(std::vector<Particle> &leaving, int to, int from, int tag)
{
    int n = static_cast<int>(leaving.size() * sizeof(Particle)), incoming = 0;
    MPI_Request request;
    MPI_Isend(leaving.data(), n, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
    MPI_Status status;
    MPI_Probe(from, tag, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &incoming);
    std::vector<Particle> arriving(static_cast<std::size_t>(incoming) / sizeof(Particle));
    MPI_Recv(arriving.data(), incoming, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return arriving;
}

int step(std::vector<Particle> &mine, int rank, int size, int tag, int &depth)
{
    std::vector<Particle> keep, left, right;
    int collisions = 0;
    for (Particle p : mine) {
        try {
            move(p, width * size, depth);
        } catch (const Collision &c) {
            ++collisions;
            p.position = c.wall;
            p.speed = -p.speed;
        }
        std::int64_t home = p.position / width;
        (home < rank ? left : home > rank ? right : keep).push_back(p);
    }
    int next = rank + 1 < size ? rank + 1 : MPI_PROC_NULL,
        before = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    if (before == MPI_PROC_NULL && next == MPI_PROC_NULL) {
        mine = keep;
        return collisions;
    }
    if (next != MPI_PROC_NULL)
        for (const Particle &p : exchange(right, next, next, tag))
            keep.push_back(p);
    if (before != MPI_PROC_NULL)
        for (const Particle &p : exchange(left, before, before, tag))
            keep.push_back(p);
    mine = keep;
    return collisions;
}

// Several threads communicate at once, each with its own tag.
long talk(int rank, int size)
{
    constexpr int threads = 3, rounds = 20;
    std::vector<long> sums(threads);
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; t++)
        workers.emplace_back([&sums, t, rank, size] {
            for (int i = 0; i < rounds; i++) {
                long out = rank * 100 + i, in = -1;
                MPI_Sendrecv(&out, 1, MPI_LONG, (rank + 1) % size, 100 + t, &in, 1, MPI_LONG,
                             (rank + size - 1) % size, 100 + t, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                sums[static_cast<std::size_t>(t)] += in * (t + 1);
            }
        });
    for (auto &w : workers)
        w.join();
    long sum = 0;
    for (long s : sums)
        sum += s;
    return sum;
}

} // namespace

int main(int argc, char **argv)
{
    int level = 0, rank = 0, size = 1, depth = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int steps = argc > 1 ? std::atoi(argv[1]) : 20, n = argc > 2 ? std::atoi(argv[2]) : 50;
    std::vector<Particle> mine;
    for (int i = 0; i < n; i++)
        mine.push_back(
            {rank * n + i, rank * width + i * 17 % width, (i % 2 ? 1 : -1) * (37 + i * 13 % 400)});
    long local[4] = {0, 0, 0, 0}, all[4];
    for (int i = 0; i < steps; i++) {
        if (i % 5 == 0)
            MPI_Pcontrol(1, "solve");
        local[0] += step(mine, rank, size, i, depth);
        if (i % 5 == 4)
            MPI_Pcontrol(0, "solved");
    }
    local[1] = static_cast<long>(mine.size());
    for (const Particle &p : mine)
        local[2] += p.id * p.position;
    local[3] = level >= MPI_THREAD_MULTIPLE ? talk(rank, size) : 0;
    MPI_Reduce(local, all, 4, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        std::printf("collisions %ld, particles %ld, moment %ld, talk %ld, depth %d\n", all[0],
                    all[1], all[2], all[3], depth);
    MPI_Finalize();
    return depth;
}
