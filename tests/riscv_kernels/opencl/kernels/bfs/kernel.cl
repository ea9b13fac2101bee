typedef struct {
    int first;
    int count;
} Node;

__kernel void bfs_step(__global const Node *nodes, __global const int *edges, __global int *frontier, __global int *next,
                       __global const int *visited, __global int *cost, const int count)
{
    int own = get_global_id(0);
    if (own < count && frontier[own]) {
        frontier[own] = 0;
        for (int i = nodes[own].first; i < nodes[own].first + nodes[own].count; i++) {
            int other = edges[i];
            if (visited[other])
                continue;
            /* Others that get here write the same. */
            cost[other] = 3;
            next[other] = 1;
        }
    }
}
