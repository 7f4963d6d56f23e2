/** Of requests on resources. */
export const commonMethods: readonly string[] = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']

/** What Fastify routes a method as that no route has. */
export const otherMethod = 'TRACE'
