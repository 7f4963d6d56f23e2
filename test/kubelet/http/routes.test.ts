import { createServer } from 'node:https'
import t from 'tap'
import { buildKubeletApp } from '../../../kubelet/http/app.ts'
import { createSimulatedRuntime } from '../../../kubelet/runtime/simulated.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'

/**
 * Every path of a kubelet's server that Kubernetes documents and Kubestage serves, and those of docs/nodes.md and of
 * decision 026, with the methods that clients use.
 */
const documented = {
  '/healthz': ['GET'],
  '/healthz/*': ['GET'],
  '/pods': ['GET'],
  '/pods/*': ['GET'],
  '/runningpods': ['GET'],
  '/runningpods/*': ['GET'],
  '/configz': ['GET'],
  '/metrics': ['GET'],
  '/metrics/:page': ['GET'],
  '/stats/summary': ['GET'],
  '/containerLogs': ['GET'],
  '/containerLogs/*': ['GET'],
  '/containerLogs/:namespace/:name/:container': ['GET'],
  '/containerLogs/:namespace/:name/:container/*': ['GET'],
  '/exec/:namespace/:name/:container|:uid': ['GET', 'POST'],
  '/exec/:namespace/:name/:container|:uid/:container': ['GET', 'POST'],
  '/attach/:namespace/:name/:container|:uid': ['GET', 'POST'],
  '/attach/:namespace/:name/:container|:uid/:container': ['GET', 'POST'],
  '/portForward/:namespace/:name': ['GET', 'POST'],
  '/portForward/:namespace/:name/:uid': ['GET', 'POST'],
  '/podAddress/:address/:port': ['GET'],
  '/debug/images': ['GET', 'PUT', 'DELETE'],
  '/debug/clock': ['PUT'],
  '/debug/node/:word': ['POST'],
  '/debug/pressure/:word': ['PUT', 'DELETE'],
}

/** Each line of the tree is a segment below the last line that is indented by four columns less. */
function routesIn(printed: string): Map<string, string[]> {
  const routes = new Map<string, string[]>()
  const above: string[] = []
  for (const line of printed.split('\n')) {
    const [, indent = '', segment = '', methods] = /^([│├└─ ]*)(\S+)(?: \((.*)\))?$/.exec(line) ?? []
    if (segment === '') continue
    const depth = indent.length / 4 - 1
    const parent = above.slice(0, depth).join('')
    above.splice(depth, above.length, segment === '*' ? '/*' : segment)
    if (methods) routes.set(parent + above[depth], methods.split(', '))
  }
  return routes
}

t.test('the routes of the kubelet are the documented paths, and no others', async (t) => {
  const runtime = createSimulatedRuntime({ clock: realClock })
  const server = createServer()
  const app = await buildKubeletApp(
    {
      runtime,
      clock: realClock,
      log: { warn: (fields, message) => t.fail(message, fields) },
      pods: () => [],
      reviews: async () => ({ userOf: async () => undefined, isAllowed: async () => false }),
      metrics: {} as never,
      configz: () => ({}),
    },
    server,
  )
  t.teardown(async () => {
    await app.close()
    await runtime.close()
  })
  const routes = routesIn(app.printRoutes({ commonPrefix: false }))
  t.same([...routes.keys()].sort(), Object.keys(documented).sort())
  for (const [path, methods] of Object.entries(documented)) {
    for (const method of methods) t.ok(routes.get(path)?.includes(method), `${method} ${path}`)
  }
})
