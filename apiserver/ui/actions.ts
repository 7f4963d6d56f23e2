import { badRequest } from '../../shared/api/status/status-errors.ts'
import type { InjectedRequest } from '../../shared/http/injected-request.ts'

/** The largest body of a request to act. */
export const maxActionBytes = 4096

type Wish = Readonly<Record<'action' | 'name' | 'namespace' | 'reason', string>>

interface Action {
  /** Fields that must be given beside the name. */
  needs: readonly (keyof Wish)[]
  request(wish: Wish): InjectedRequest
  done(wish: Wish): string
}

const nodePath = ({ name }: Wish): string => `/api/v1/nodes/${encodeURIComponent(name)}`
const mergePatch = { 'content-type': 'application/merge-patch+json' }
const schedulable = (wish: Wish, unschedulable: boolean): InjectedRequest => ({
  method: 'PATCH',
  url: nodePath(wish),
  headers: mergePatch,
  payload: { spec: { unschedulable: unschedulable || null } },
})

/** Lists what a page may do: ordinary requests of the API, by the user whose link opened it. */
const actions: Readonly<Record<string, Action>> = {
  cordon: { needs: [], request: (wish) => schedulable(wish, true), done: ({ name }) => `${name} gets no more pods` },
  uncordon: { needs: [], request: (wish) => schedulable(wish, false), done: ({ name }) => `${name} gets pods again` },
  shutdown: {
    needs: [],
    request: (wish) => ({ method: 'POST', url: `${nodePath(wish)}/proxy/debug/node/shutdown` }),
    done: ({ name }) => `${name} is off; kubestage node return ${name} starts it again`,
  },
  delete: {
    needs: ['namespace'],
    request: ({ namespace, name, reason }) => ({
      method: 'DELETE',
      url: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`,
      payload: { kind: 'DeleteOptions', apiVersion: 'v1', ...(reason && { reason }) },
    }),
    done: ({ namespace, name }) => `${namespace}/${name} is being deleted`,
  },
}

const logLines = 30
const maxLogBytes = 65_536

/**
 * Returns the request for the end of a container's log. Throws a StatusError (400) if the query names no namespace or
 * pod.
 */
export function logRequestOf(query: URLSearchParams): InjectedRequest {
  const [namespace, pod] = ['namespace', 'pod'].map((field) => checked(field, query.get(field) ?? ''))
  const container = query.get('container') ?? ''
  const options = { tailLines: String(logLines), limitBytes: String(maxLogBytes), ...(container && { container }) }
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace!)}/pods/${encodeURIComponent(pod!)}/log`
  return { url: `${path}?${new URLSearchParams(options)}` }
}

/** A name is one segment of a path: dots alone would be another place. */
function checked(field: string, name: string): string {
  if (!name || /^\.+$/.test(name)) throw badRequest(`${field} must be given`)
  return name
}

/** Throws a StatusError (400) for what is no action. */
export function actionOf(body: string): { request: InjectedRequest; done: string } {
  const wish = wishOf(body)
  const action = Object.hasOwn(actions, wish.action) ? actions[wish.action] : undefined
  if (!action) throw badRequest(`action must be one of ${Object.keys(actions).join(', ')}`)
  for (const field of ['name', ...action.needs] as const) checked(field, wish[field])
  return { request: action.request(wish), done: action.done(wish) }
}

function wishOf(body: string): Wish {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch (error) {
    throw badRequest(`the body is not valid JSON: ${(error as Error).message}`)
  }
  const given = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>
  const textOf = (field: keyof Wish): string => {
    const text = given[field] ?? ''
    if (typeof text !== 'string') throw badRequest(`${field} must be a text`)
    return text
  }
  const [action, name] = [textOf('action'), textOf('name')]
  return { action, name, namespace: textOf('namespace'), reason: textOf('reason') }
}
