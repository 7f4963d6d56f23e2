/**
 * Port that all servers in `examples/` listen on (KUBE on a telephone's keys). A manifest is static, so the port is
 * fixed. It is below the ephemeral range, and development servers do not use it.
 */
export const examplePort = 5823
