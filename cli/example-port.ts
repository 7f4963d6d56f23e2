/**
 * The port of all servers in `examples/` (KUBE on a telephone's keys). A manifest is static, so this is a port that
 * development servers do not take, below those that the system gives to connections.
 */
export const examplePort = 5823
