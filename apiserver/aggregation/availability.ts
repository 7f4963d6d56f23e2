import { ignoring } from '../../shared/api/status/status-error.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import { WorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { Logger } from '../../shared/log/log.ts'
import type { ResourceDefinition } from '../kind/resource-definition.ts'
import type { User } from '../kind/user.ts'
import type { Registry } from '../registry/registry.ts'
import { type APIService, localCondition } from './api-service.ts'
import { type RemoteApi, remoteApi } from './remote-api.ts'
import type { RemoteClient } from './remote-client.ts'
import { type Availability, passed, serviceProblem, unavailable } from './service-check.ts'

export interface CheckerOptions {
  kind: ResourceDefinition
  registry: Registry
  client: RemoteClient
  /** Names the user as which the server itself writes. */
  self: User
  clock: Clock
  log: Logger
}

const aggregator: User = { name: 'system:kube-aggregator', groups: ['system:masters'] }
/** Upstream's limits. */
const timeoutMs = 5000
const attempts = 5
const resyncMs = 30_000
const workers = 5
const retry = { initialMs: 5, maxMs: resyncMs }

const quietly = { dryRun: false, fieldManager: 'kube-apiserver', warn: () => undefined }

/** Writes into the status of each APIService whether its server can be asked, and asks again every 30 seconds. */
export class AvailabilityChecker {
  readonly #options: CheckerOptions
  readonly #queue: WorkQueue<string>

  constructor(options: CheckerOptions) {
    const { clock, log } = options
    this.#options = options
    this.#queue = new WorkQueue<string>({
      clock: clock.machine,
      concurrency: workers,
      retry,
      work: (name) => this.#sync(name),
      onError: (error, name) => log.debug({ err: error, apiService: name }, 'APIService is not available'),
    })
  }

  /** Checks the APIService again, soon. */
  check(name: string): void {
    this.#queue.add(name)
  }

  close(): Promise<void> {
    return this.#queue.close()
  }

  /** Rejects where the server did not answer: the queue tries again, later each time. */
  async #sync(name: string): Promise<void> {
    const { kind, registry } = this.#options
    const found = registry.lookup(kind, undefined, name) as APIService | undefined
    if (!found) return
    const api = remoteApi(found)
    if (!api) return this.#write(found, localCondition as Availability)
    const problem = serviceProblem(api, registry)
    const failure = problem ? undefined : await this.#failure(api)
    await this.#write(found, problem ?? (failure ? unavailable('FailedDiscoveryCheck', failure) : passed))
    if (failure) throw new Error(failure)
    this.#queue.addAfter(name, resyncMs)
  }

  /** Resolves to the last error if none of several requests for the API's discovery was answered. */
  async #failure(api: RemoteApi): Promise<string | undefined> {
    const tries = Array.from({ length: attempts }, () => this.#ask(api))
    const answers = tries.map((one) => one.then((why) => why !== undefined && Promise.reject(new Error(why))))
    const isThere = await Promise.any(answers).then(
      () => true,
      () => false,
    )
    return isThere ? undefined : (await Promise.all(tries)).at(-1)
  }

  async #ask(api: RemoteApi): Promise<string | undefined> {
    const { client } = this.#options
    const path = `/apis/${api.group}/${api.version}`
    let url: string
    try {
      url = client.locate(api).url.origin + path
    } catch (error) {
      return (error as Error).message
    }
    const failed = (why: string): string => `failing or missing response from ${url}: ${why}`
    try {
      const { code } = await client.read(api, { path, user: aggregator, timeoutMs, maxBytes: 0, headOnly: true })
      return code >= 200 && code < 300 ? undefined : failed(`bad status from ${url}: ${code}`)
    } catch (error) {
      return failed((error as Error).message)
    }
  }

  async #write(seen: APIService, now: Availability): Promise<void> {
    if (!changed(seen, now)) return
    const { kind, registry, self, clock } = this.#options
    const scope = { definition: kind, name: seen.metadata.name ?? '', subresource: 'status', user: self }
    const transform = (stored: (() => KubeObject) | undefined): KubeObject => {
      const object = stored!() as unknown as APIService
      const conditions = object.status?.conditions ?? []
      const before = conditions.find(({ type }) => type === 'Available')
      const lastTransitionTime = before?.status === now.status ? before.lastTransitionTime : toTime(clock.now())
      const condition = { ...now, type: 'Available', lastTransitionTime }
      const others = conditions.filter(({ type }) => type !== 'Available')
      return { ...object, status: { ...object.status, conditions: [...others, condition] } } as unknown as KubeObject
    }
    const update = { transform, uidIsPrecondition: false, createAbsent: 'never' } as const
    await registry.update(scope, update, quietly).catch(ignoring('NotFound'))
  }
}

function changed({ status }: APIService, now: Availability): boolean {
  const before = status?.conditions?.find(({ type }) => type === 'Available')
  return before?.status !== now.status || before.reason !== now.reason || before.message !== now.message
}
