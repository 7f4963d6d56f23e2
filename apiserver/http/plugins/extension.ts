import type { Server } from 'node:https'
import validators from '@fastify/ajv-compiler'
import serializers from '@fastify/fast-json-stringify-compiler'
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyServerOptions,
  LogController,
} from 'fastify'
import type { Client } from '../../../shared/client/client.ts'
import { upgradeOf } from '../../../shared/http/upgrades.ts'
import type { Logger } from '../../../shared/log/log.ts'
import type { ApiContext } from '../api-context.ts'
import { parseRequestInfo } from '../request-info.ts'
import { hasSubresource } from '../resources/subresource-routes.ts'
import type { ClusterPlugin, NamedPlugin } from './plugin.ts'
import { pluginError } from './plugin-error.ts'

type Settings = Pick<FastifyServerOptions<Server>, 'logController' | 'schemaController'> & {
  loggerInstance: FastifyBaseLogger
}

/**
 * Returns the settings that give plugins what they expect of a Fastify application: `app.log`, which is the server's
 * log, and routes with schemas.
 */
export const settings = (log: Logger): Settings => ({
  loggerInstance: log,
  logController: new LogController({ disableRequestLogging: true }),
  schemaController: { compilersFactory: { buildValidator: validators(), buildSerializer: serializers() } },
})

/**
 * Marks exchanges that are in `onSend` hooks, so that errors of these hooks are told from others: the answer about such
 * an error must not call the hooks again.
 */
export function noteSending(app: FastifyInstance): void {
  app.addHook('onSend', ({ exchange }, _reply, _payload, done) => {
    exchange.isSending = true
    done()
  })
}

/**
 * Hooks of `onResponse` run for each request, also where the client leaves before the end of the answer, as watches
 * end, and where the connection goes on in another protocol: then at its end, with 101.
 */
export function reportCutAnswers(app: FastifyInstance): void {
  app.addHook('onRequest', (request, { raw }, done) => {
    const upgrade = upgradeOf(request.raw)
    const end = upgrade?.socket ?? raw
    end.once('close', () => {
      // An answer in another protocol has taken the socket.
      if (upgrade && !raw.socket && !raw.headersSent) raw.statusCode = 101
      // Fastify waits for `finish` or `error`, and listens to neither when one has come.
      if (raw.listenerCount('error') > 0) raw.emit('error', new Error('the client has left'))
    })
    done()
  })
}

/** Names the plugin with which the application does not become ready. */
type Explain = (error: Error) => Error

interface Extended {
  api: ApiContext
  plugins: readonly NamedPlugin[]
  /** Returns a client of an administrator. */
  client(): Client
}

/**
 * Registers the plugins at the root of the application, so that their hooks are those of all routes that follow.
 * Returns what makes a ConfigError of that with which `app.ready()` rejects.
 */
export function registerPlugins(app: FastifyInstance, { api, plugins, client }: Extended): Explain {
  app.decorate('kubernetes', { client: client() })
  /** The one that is being loaded. */
  let current: NamedPlugin | undefined
  /** Names of plugins by the routes that they have added. */
  const owners = new Map<string, string>()
  app.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) {
      const route = routeKey(one, url)
      const owner = owners.get(route)
      if (owner !== undefined) throw taken(current?.name ?? owner, one, url)
      if (!current) continue
      if (isTaken(url, api)) throw taken(current.name, one, url)
      owners.set(route, current.name)
    }
  })
  const { register, setNotFoundHandler } = app
  app.register = function (this: FastifyInstance, plugin: unknown, ...options: unknown[]) {
    return Reflect.apply(register, this, [contained(plugin), ...options])
  } as typeof register
  app.setNotFoundHandler = function (this: FastifyInstance, ...handler: unknown[]) {
    if (current && this.prefix === '')
      throw pluginError(current.name, 'sets a not-found handler for all paths, which the API server has already')
    return Reflect.apply(setNotFoundHandler, this, handler)
  } as typeof setNotFoundHandler
  for (const named of plugins) {
    const begins: FastifyPluginAsync = async (root) => {
      current = named
      await loaded(named.plugin, root)
    }
    app.register(atRoot(begins, named))
    const ends: After = (error, done) => {
      current = undefined
      done(error && explained(error, named))
    }
    app.after(ends as (error: Error | null) => void)
  }
  return (error) => {
    // The schemas of routes are compiled last.
    const [, method = '', url = ''] = /^Failed building the .* schema for (\S+): ([^\s,]+)/.exec(error.message) ?? []
    const owner = owners.get(routeKey(method, url))
    if (owner !== undefined) return pluginError(owner, 'has a schema that cannot be used', error)
    const [{ name, file } = {}, ...others] = plugins
    if (error.name === 'ConfigError' || others.length > 0) return error
    return pluginError(name ?? '', 'threw when it was loaded', error, file)
  }
}

/** The second form of `after`, which Fastify's types do not have. */
type After = (error: Error | null, done: (error: Error | null) => void) => void

/** Fastify's plugins in both their forms. */
async function loaded(plugin: ClusterPlugin, app: FastifyInstance): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const returned = plugin(app, {}, (error) => (error ? reject(error) : resolve()))
  if (plugin.length >= 3 && !(returned instanceof Promise)) return promise
  await returned
}

/** Wraps what a plugin registers in a promise: without it, what the plugin throws at once would end the process. */
function contained(plugin: unknown): unknown {
  if (typeof plugin !== 'function' || plugin.constructor.name === 'AsyncFunction') return plugin
  const call = (...given: unknown[]): unknown => {
    try {
      return plugin(...given)
    } catch (error) {
      return Promise.reject(error)
    }
  }
  // Fastify reads how many parameters it has, its name, and notes of `fastify-plugin` on it.
  return Object.defineProperties(Object.assign(call, plugin), {
    length: { value: plugin.length },
    name: { value: plugin.name },
  })
}

/** Gives the plugin no scope of its own, and what `fastify-plugin` has noted on it. */
const atRoot = (begins: FastifyPluginAsync, { name, plugin }: NamedPlugin): FastifyPluginAsync =>
  Object.assign(begins, plugin, {
    [Symbol.for('skip-override')]: true,
    [Symbol.for('fastify.display-name')]: name,
  })

function explained(error: Error & { code?: string }, { name, file }: NamedPlugin): Error {
  if (error.name === 'ConfigError') return error
  if (error.code === 'FST_ERR_PLUGIN_TIMEOUT' || error.code === 'AVV_ERR_PLUGIN_EXEC_TIMEOUT')
    return pluginError(name, 'was not loaded after 10 s: it must resolve, or call done')
  return pluginError(name, 'threw when it was loaded', error, file)
}

const taken = (name: string, method: string, url: string): Error =>
  pluginError(name, `adds a route that exists already: ${method} ${url}`)

const routeKey = (method: string, url: string): string =>
  `${method} ${url.replace(/:[^/]+/g, ':').replace(/(.)\/$/, '$1')}`

const isPattern = (segment: string): boolean => /[:*]/.test(segment)

/** Returns whether Kubernetes' own API has the path: its kinds are looked up for each request, and have no routes. */
function isTaken(url: string, { catalog }: ApiContext): boolean {
  const { target } = parseRequestInfo('GET', url)
  if (!target) return false
  const { group, version, resource, subresource } = target
  if ([group, version, resource].some(isPattern)) return true
  const definition = catalog.find(group, version, resource)
  if (!definition) return false
  return !subresource || isPattern(subresource) || hasSubresource(definition, subresource)
}
