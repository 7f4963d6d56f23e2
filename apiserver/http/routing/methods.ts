/** Requests on resources have one of these methods. */
export const commonMethods: readonly string[] = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']

/** Fastify routes each method that no route has as this one. */
export const otherMethod = 'TRACE'
