import { toJson } from '../../shared/api/json/exact-json.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import type { Logger } from '../../shared/log/log.ts'
import type { ResourceDefinition } from '../kind/resource-definition.ts'
import type { User } from '../kind/user.ts'
import { keyPrefix, nameInKey } from '../registry/keys.ts'
import type { Registry } from '../registry/registry.ts'
import type { StorageWatch } from '../storage/storage.ts'
import { deepEqual } from '../values/deep-equal.ts'
import type { WebhookClient } from '../webhook-client/webhook-client.ts'
import { CLEANUP_FINALIZER, DELETION_COMPLETED, DELETION_IN_PROGRESS } from './cleanup.ts'
import { VersionWebhook } from './conversion/version-webhook.ts'
import { type CustomResourceOptions, customResource } from './custom-resource.ts'
import {
  type CustomResourceDefinition,
  conditionOf,
  firstStorageVersion,
  isConditionTrue,
  storageVersionOf,
} from './custom-resource-definition.ts'
import { approvalCondition, decideNames, ESTABLISHED, type NewCondition, setCondition } from './naming.ts'

/** Upstream's loops for definitions run inside the API server, under its own name. */
const self: User = { name: 'system:apiserver', groups: ['system:masters', 'system:authenticated'] }
const RETRY_MS = 1000
/** Limits how long a request waits for a definition that another server has established. */
const PATIENCE_MS = 5000

export interface CustomResourcesOptions {
  kind: ResourceDefinition
  registry: Registry
  log: Logger
  rulesOf?: CustomResourceOptions['rulesOf']
  webhookClient: WebhookClient
}

interface Served {
  /** Equal as long as nothing that matters for serving has changed. */
  fingerprint: string
  definitions: ResourceDefinition[]
  instances: StorageWatch
}

/**
 * Follows CustomResourceDefinitions: decides their names, serves established ones, and on deletion deletes their
 * objects first. Handles one definition at a time, in the order of changes, so that the first of two definitions that
 * ask for a name gets it.
 */
export class CustomResources {
  readonly #kind: ResourceDefinition
  readonly #registry: Registry
  readonly #log: Logger
  readonly #rulesOf: CustomResourceOptions['rulesOf']
  readonly #webhookClient: WebhookClient
  readonly #served = new Map<string, Served>()
  readonly #pending = new Set<string>()
  /** Failed a moment ago. */
  readonly #resting = new Set<string>()
  /** Definitions, as they were looked at: what they say is served, or cannot be. */
  readonly #known = new WeakSet<CustomResourceDefinition>()
  readonly #waiting = new Set<() => void>()
  #watch: StorageWatch | undefined
  #running: Promise<void> | undefined
  #closed = false

  constructor({ kind, registry, log, rulesOf, webhookClient }: CustomResourcesOptions) {
    this.#kind = kind
    this.#webhookClient = webhookClient
    this.#registry = registry
    this.#log = log
    this.#rulesOf = rulesOf
  }

  /** Resolves when everything that the store knows of is served. */
  async start(): Promise<void> {
    this.#watch = this.#registry.storage.watch({
      prefix: keyPrefix(this.#kind),
      onEvents: (events) => {
        for (const { key } of events) this.#enqueue(nameInKey(key))
      },
    })
    for (const crd of this.#all()) this.#enqueue(crd.metadata.name ?? '')
    await this.#running
  }

  /**
   * Resolves when requests find the definition of the name (default: each) as it is stored, or after a while. Undefined
   * if they do already. Only where another server may have established it: this one serves it in the same turn.
   */
  current(name?: string): Promise<void> | undefined {
    const isCurrent = () => (name === undefined ? this.#names() : [name]).every((one) => this.#isCurrent(one))
    if (this.#closed || isCurrent()) return undefined
    return new Promise((resolve) => {
      const check = (): void => {
        if (this.#closed || isCurrent()) end()
      }
      const end = (): void => {
        timer.cancel()
        this.#waiting.delete(check)
        resolve()
      }
      const timer = this.#registry.clock.machine.setTimer(PATIENCE_MS, end, { background: true })
      this.#waiting.add(check)
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const check of this.#waiting) check()
    this.#watch?.close()
    for (const { instances } of this.#served.values()) instances.close()
    await this.#running
  }

  #enqueue(name: string): void {
    if (this.#closed || this.#resting.has(name)) return
    this.#pending.add(name)
    this.#running ??= this.#run()
  }

  async #run(): Promise<void> {
    for (const name of this.#pending) {
      // The write that woke us is still being made; and requests must have their turn between two definitions.
      await new Promise<void>((resolve) => setImmediate(resolve))
      this.#pending.delete(name)
      const crd = this.#find(name)
      try {
        await this.#sync(name, crd)
      } catch (error) {
        if (this.#closed) break
        this.#log.warn({ err: error, definition: name }, 'custom resource definition: will try again')
        this.#rest(name)
      }
      if (crd) this.#known.add(crd)
      for (const check of this.#waiting) check()
    }
    this.#running = undefined
  }

  #rest(name: string): void {
    this.#resting.add(name)
    const wake = (): void => {
      this.#resting.delete(name)
      this.#enqueue(name)
    }
    this.#registry.clock.machine.setTimer(RETRY_MS, wake, { background: true })
  }

  async #sync(name: string, crd: CustomResourceDefinition | undefined): Promise<void> {
    if (crd === undefined) this.#forget(name)
    else if (crd.metadata.deletionTimestamp !== undefined) await this.#cleanUp(crd)
    else await this.#establish(crd)
  }

  async #establish(crd: CustomResourceDefinition): Promise<void> {
    const decision = decideNames(crd, this.#all())
    const accepted = decision.namesAccepted.status === 'True' || decision.established.status === 'True'
    const conditions = [
      decision.namesAccepted,
      accepted && decision.established.status !== 'True' ? ESTABLISHED : decision.established,
    ]
    const approval = approvalCondition(crd)
    if (approval !== undefined) conditions.push(approval)
    const settled = structuredClone(crd)
    const changed = this.#settle(settled, conditions, decision.acceptedNames)
    if (changed) {
      await this.#updateStatus(crd.metadata.name ?? '', (object) =>
        this.#settle(object, conditions, decision.acceptedNames),
      )
    }
    // In the turn in which the store says that it is established: no request comes in between.
    if (accepted) await this.#serve(settled)
  }

  /** Writes the decision into the object; says whether anything changed. */
  #settle(
    crd: CustomResourceDefinition,
    conditions: NewCondition[],
    acceptedNames: CustomResourceDefinition['spec']['names'],
  ): boolean {
    const now = toTime(this.#registry.clock.now())
    const changes = conditions.map((condition) => setCondition(crd, condition, now))
    if (crd.status === undefined || deepEqual(crd.status.acceptedNames, acceptedNames)) return changes.includes(true)
    crd.status.acceptedNames = acceptedNames
    return true
  }

  /** Makes the catalog say what the definition says. */
  async #serve(crd: CustomResourceDefinition): Promise<void> {
    const name = crd.metadata.name ?? ''
    const fingerprint = toJson([crd.spec, crd.status?.acceptedNames])
    const before = this.#served.get(name)
    if (before?.fingerprint === fingerprint) return
    const options = {
      writtenUnderSchemaSince: this.#registry.storage.revision(),
      isTerminating: () => this.#find(name)?.metadata.deletionTimestamp !== undefined,
      rulesOf: this.#rulesOf,
      limits: this.#registry.limits,
      webhook: versionWebhook(crd, this.#webhookClient),
    }
    const definitions = (crd.spec.versions ?? [])
      .filter((version) => version.served)
      .map((version) => customResource(crd, version, options))
    await this.#registry.objects.install(definitions)
    const versions = new Set(definitions.map(({ version }) => version))
    this.#registry.objects.uninstall((before?.definitions ?? []).filter(({ version }) => !versions.has(version)))
    this.#served.set(name, {
      fingerprint,
      definitions,
      instances: before?.instances ?? this.#watchInstances(crd, name),
    })
  }

  /** While the definition is being deleted, each object that goes may be the last. */
  #watchInstances({ spec }: CustomResourceDefinition, name: string): StorageWatch {
    return this.#registry.storage.watch({
      prefix: keyPrefix({ group: spec.group, plural: spec.names.plural }),
      onEvents: (events) => {
        if (events.some(({ type }) => type === 'delete') && this.#find(name)?.metadata.deletionTimestamp !== undefined)
          this.#enqueue(name)
      },
    })
  }

  async #cleanUp(crd: CustomResourceDefinition): Promise<void> {
    const name = crd.metadata.name ?? ''
    if (!crd.metadata.finalizers?.includes(CLEANUP_FINALIZER)) return
    if (isConditionTrue(crd, 'Established')) {
      await this.#serve(crd)
      if (conditionOf(crd, 'Terminating')?.reason !== DELETION_IN_PROGRESS.reason)
        await this.#report(name, DELETION_IN_PROGRESS)
      if ((await this.#deleteInstances(crd)) > 0) return
    }
    const now = toTime(this.#registry.clock.now())
    await this.#updateStatus(name, (object) => {
      setCondition(object, DELETION_COMPLETED, now)
      const { metadata } = object
      metadata.finalizers = metadata.finalizers?.filter((finalizer) => finalizer !== CLEANUP_FINALIZER)
    })
  }

  /** Deletes what is not being deleted yet. Returns how many objects are left. */
  async #deleteInstances(crd: CustomResourceDefinition): Promise<number> {
    const definitions = this.#served.get(crd.metadata.name ?? '')?.definitions ?? []
    const definition = definitions.find(({ version }) => version === storageVersionOf(crd)?.name) ?? definitions[0]
    if (definition === undefined) return 0
    const cache = this.#registry.cacheOf(definition)
    const everything = { prefix: keyPrefix(definition), labels: [], fields: [] }
    for (const { name, namespace, value } of cache.list(everything).items) {
      if ((JSON.parse(value) as KubeObject).metadata.deletionTimestamp !== undefined) continue
      const scope = { definition, namespace: definition.namespaced ? namespace : undefined, name, user: self }
      await this.#registry.delete(
        scope,
        { ...(crd.metadata.reason !== undefined && { reason: crd.metadata.reason }) },
        quietly,
      )
    }
    return cache.list(everything).items.length
  }

  #forget(name: string): void {
    const served = this.#served.get(name)
    this.#served.delete(name)
    served?.instances.close()
    this.#registry.objects.uninstall(served?.definitions ?? [])
    // Its names are free now.
    for (const crd of this.#all()) if (!isConditionTrue(crd, 'NamesAccepted')) this.#enqueue(crd.metadata.name ?? '')
  }

  #report(name: string, condition: NewCondition): Promise<void> {
    const now = toTime(this.#registry.clock.now())
    return this.#updateStatus(name, (crd) => setCondition(crd, condition, now))
  }

  async #updateStatus(name: string, change: (crd: CustomResourceDefinition) => void): Promise<void> {
    const transform = (current: (() => KubeObject) | undefined): KubeObject => {
      const crd = current!() as CustomResourceDefinition
      change(crd)
      return crd
    }
    const scope = { definition: this.#kind, name, subresource: 'status', user: self }
    await this.#registry.update(scope, { transform, uidIsPrecondition: false, createAbsent: 'never' }, quietly)
  }

  #names(): string[] {
    return [...new Set([...this.#served.keys(), ...this.#all().map(({ metadata }) => metadata.name ?? '')])]
  }

  #isCurrent(name: string): boolean {
    const crd = this.#find(name)
    if (!crd) return !this.#served.has(name)
    const isServed = isConditionTrue(crd, 'Established') && crd.metadata.deletionTimestamp === undefined
    return !isServed || this.#known.has(crd)
  }

  #find(name: string): CustomResourceDefinition | undefined {
    return this.#registry.lookup(this.#kind, undefined, name) as CustomResourceDefinition | undefined
  }

  #all(): CustomResourceDefinition[] {
    const everything = { prefix: keyPrefix(this.#kind), labels: [], fields: [] }
    return this.#registry
      .cacheOf(this.#kind)
      .list(everything)
      .items.flatMap(({ name }) => this.#find(name) ?? [])
  }
}

/** Returns undefined where no webhook is named. */
function versionWebhook({ spec, status }: CustomResourceDefinition, client: WebhookClient): VersionWebhook | undefined {
  const { strategy, webhook } = spec.conversion ?? {}
  const storage = firstStorageVersion({ spec, status })
  if (strategy !== 'Webhook' || !webhook?.clientConfig || !storage) return undefined
  const { clientConfig, conversionReviewVersions } = webhook
  const { kind } = status?.acceptedNames ?? spec.names
  const reviewVersions = conversionReviewVersions ?? []
  return new VersionWebhook({ client, clientConfig, reviewVersions, group: spec.group, kind, storage })
}

const quietly = { dryRun: false, fieldManager: 'kube-apiserver', warn: () => undefined }
