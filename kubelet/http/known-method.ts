/** No path has it. */
const other = 'TRACE'
const known = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])

/**
 * All other methods are refused alike, so that each route is one for few methods: a kubelet's first request waits for
 * them.
 */
export const knownMethod = (method = 'GET'): string => (known.has(method) ? method : other)
