/** Situations of the table of reasons, in which the pods are members of examples/member-store. */
import { globSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Cluster } from '../../../library/index.ts'
import type { Container, PodSpec, PodTemplateSpec } from '../../../shared/api/types.ts'
import type { Client, Resource } from '../../../shared/client/client.ts'
import { endpointSlices, namespaces, nodes } from '../../../shared/client/resources.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { Stage } from '../situations/index.ts'
import { until } from '../until.ts'
import { createSurroundings, exampleFolder, memberTemplate } from './objects.ts'

/** A namespace in which members find each other. `elsewhere`: addresses of members in other namespaces. */
async function createStoreNamespace(client: Client, namespace: string, elsewhere: string[]): Promise<void> {
  await client.create(namespaces, { metadata: { name: namespace } })
  await createSurroundings(client, namespace)
  const metadata = { name: 'elsewhere', labels: { 'kubernetes.io/service-name': 'member-store' } }
  const endpoints = elsewhere.map((address) => ({
    addresses: [address],
    conditions: { ready: true, serving: true, terminating: false },
  }))
  const slice: object = { metadata, addressType: 'IPv4', endpoints, ports: [{ port: 8080 }] }
  await client.create(endpointSlices, slice, { namespace })
}

/** What a member did when it left. */
export interface Departure {
  pod: string
  reason: string | null
  keys: number
  bytes: number
  /** It was killed before it said anything: its reason is that of its record. */
  isSilent?: boolean
}

/** How many copies the key with the fewest copies has, of the newest value. */
export interface Kept {
  /** At members that run. */
  live: number
  /** There, and in folders that no running member holds. */
  all: number
  /** Keys without their newest value. */
  lost: string[]
}

const KEYS = 16
/** For the cluster: what situations have happen by itself happens when members have had the time to get ready, and their keys. */
const LATER_SECONDS = 100
/** Members that stay where a pod without a node selector runs. */
export const commonPool = { 'example.com/pool': 'common' }

export interface MemberStageOptions {
  cluster: Cluster
  namespace: string
  given?: string
  /** A folder of the machine for the members' folders. */
  root: string
  /** How many seconds pass for the cluster in one of the machine. */
  scale: number
  elsewhere: string[]
  arenas: Arenas
}

/** Nodes that one stage at a time has for itself, since it taints, stops or loses them. */
export class Arenas {
  readonly #free: string[]
  readonly #waiting: ((node: string) => void)[] = []

  constructor(nodes: string[]) {
    this.#free = nodes
  }

  async take(): Promise<string> {
    return this.#free.pop() ?? new Promise((resolve) => this.#waiting.push(resolve))
  }

  giveBack(node: string): void {
    const next = this.#waiting.shift()
    if (next) next(node)
    else this.#free.push(node)
  }
}

/** A stage whose pods are members that have keys before anything happens to them. */
export class MemberStage extends Stage {
  readonly #options: MemberStageOptions
  /** How many members share a volume. */
  #folders = 1
  #arena: string | undefined
  /** The names of the pods that had the last word on who takes the keys. */
  #writtenTo = ''
  readonly #values = new Map<string, string>()
  #shouldFinish = false
  #finished = new Set<string>()

  /** In a namespace that is made for it. */
  static override async open(options: MemberStageOptions): Promise<MemberStage> {
    await createStoreNamespace(options.cluster.client, options.namespace, options.elsewhere)
    mkdirSync(options.root)
    return new MemberStage(options)
  }

  protected constructor(options: MemberStageOptions) {
    const { cluster, namespace, given, scale } = options
    // Time passes by itself: members are processes, which need some for what they do.
    const advance = (): Promise<void> => realClock.sleep(60_000 / scale)
    const { access, client } = cluster
    super({
      cluster: { access, client, clock: { ...cluster.clock, advance } } as Partial<Cluster> as Cluster,
      namespace,
      given,
    })
    this.#options = options
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#arena) this.#options.arenas.giveBack(this.#arena)
  }

  get finished(): number {
    return this.#finished.size
  }

  override template(
    app: string,
    version = 1,
    spec: Partial<PodSpec> = {},
    { command = [], livenessProbe, ...more }: Partial<Container> = {},
  ): PodTemplateSpec {
    const { metadata, spec: own } = memberTemplate
    const [container] = own!.containers
    const program = container!.command!.join(' ')
    // What a situation has its program do, it does when it is a member; one that ends by itself is a member that finishes.
    const isScript = command[0] === 'sh'
    if (command[0] === 'true') this.#shouldFinish = true
    const main: Container = {
      ...container!,
      ...more,
      name: 'main',
      command: isScript
        ? ['sh', '-c', command[2]!.replace(/^(.*); exec sleep \d+$/, `(sleep 5; $1) & exec ${program}`)]
        : container!.command,
      env: [...container!.env!, { name: 'VERSION', value: String(version) }],
      lifecycle: { preStop: { httpGet: { path: '/leave', port: 8080 } } },
      readinessProbe: { ...container!.readinessProbe, timeoutSeconds: 20 },
      livenessProbe: livenessProbe && { ...livenessProbe, initialDelaySeconds: LATER_SECONDS },
      volumeMounts: [...container!.volumeMounts!, ...(more.volumeMounts ?? [])],
    }
    const data = join(this.#options.root, app)
    const volumes = [
      { name: 'app', hostPath: { path: exampleFolder } },
      { name: 'data', hostPath: { path: data, type: 'DirectoryOrCreate' } },
      ...(spec.volumes ?? []),
    ]
    const nodeSelector = spec.nodeSelector ?? (spec.nodeName ? undefined : commonPool)
    return this.#withFolders({
      metadata: { labels: { ...metadata?.labels, app } },
      spec: {
        ...own,
        ...spec,
        nodeSelector,
        terminationGracePeriodSeconds: 200,
        containers: [main],
        volumes,
      },
    })
  }

  override create<T extends { metadata: object }>(resource: Resource, name: string, parts: Omit<T, 'metadata'>) {
    return super.create<T>(resource, name, this.#sized(parts))
  }

  override patch(resource: Resource, name: string, patch: object, subresource?: string): Promise<void> {
    return super.patch(resource, name, this.#sized(patch), subresource)
  }

  override async node(): Promise<{ name: string; selector: Record<string, string> }> {
    this.#arena = await this.#options.arenas.take()
    const selector = { [`example.com/${this.namespace}`]: 'here' }
    await this.client.patch(nodes, { name: this.#arena }, { metadata: { labels: selector } })
    return { name: this.#arena, selector }
  }

  /** Time passes by itself. */
  override async until<Value>(condition: () => Promise<Value>, what: string): Promise<NonNullable<Value>> {
    const look = async (): Promise<Value> => {
      const value = await condition()
      if (!value && !this.isWritten) await this.write()
      if (!value && this.#shouldFinish) await this.#finish()
      return value
    }
    const value = await until(look, { what: `${what}, in ${this.namespace}`, timeoutMs: 120_000 })
    await until(() => this.#answer(), { what: `the programs of ${this.namespace}` })
    await this.write()
    return value
  }

  /** A program that has just been started has no handler for TERM yet, and nothing listens for its hook. */
  async #answer(): Promise<boolean> {
    const running = (await this.pods()).filter(
      ({ metadata, status }) => status?.phase === 'Running' && !metadata.deletionTimestamp,
    )
    const answers = running.map(({ status }) => fetch(`http://${status?.podIP}:8080/ready`).catch(() => undefined))
    return (await Promise.all(answers)).every((answer) => answer !== undefined)
  }

  /** Gives the members that are ready all keys, unless they are the same as before, or one that had keys has left. */
  async write(): Promise<void> {
    const names = (await this.readyPods()).map(({ metadata }) => metadata.uid).join()
    const isTooLate = this.departures().some(({ keys }) => keys > 0)
    let members = names === this.#writtenTo || isTooLate ? [] : await this.#members()
    if (members.length === 0) return
    const put = async (key: string, body: string, i: number): Promise<boolean> => {
      const url = `http://${members[i % members.length]}:8080/keys/${key}`
      const answer = await fetch(url, { method: 'PUT', body }).catch(() => undefined)
      if (answer?.status === 201) return true
      // A run of a CronJob may be replaced by the next one at any moment.
      members = await this.#members()
      return false
    }
    await Promise.all(
      Array.from({ length: KEYS }, async (_, i) => {
        const key = `${this.namespace}-${i}`
        const body = `${key} for ${names}`
        await until(() => put(key, body, i), { what: `a write of ${key}`, timeoutMs: 60_000 })
        this.#values.set(key, body)
      }),
    )
    this.#writtenTo = names
  }

  /** Addresses of the pods that are ready, but for those that stand by. */
  async #members(): Promise<string[]> {
    const addresses = (await this.readyPods()).map(({ status }) => status?.podIP ?? '')
    const data = await Promise.all(addresses.map((address) => dataOf(address, [])))
    return addresses.filter((_, i) => data[i] !== undefined)
  }

  get isWritten(): boolean {
    return this.#values.size > 0
  }

  /** In the order in which they left. */
  departures(): Departure[] {
    return globSync(join(this.#options.root, '*', 'departures.jsonl')).flatMap((file) =>
      readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Departure),
    )
  }

  async kept(): Promise<Kept> {
    const running = (await this.pods()).flatMap(({ status }) =>
      status?.phase === 'Running' ? [status.podIP ?? ''] : [],
    )
    const held: string[] = []
    const keys = [...this.#values.keys()]
    const stores = await Promise.all([...running, ...this.#options.elsewhere].map((address) => dataOf(address, keys)))
    const live = stores.filter((store) => store !== undefined)
    for (const [i, address] of running.entries()) if (stores[i]) held.push(address)
    const onDisk = globSync(join(this.#options.root, '*', '*', 'data.json'))
      .filter((file) => !held.some((address) => file.includes(`@${address}/`)))
      .map((file) => JSON.parse(readFileSync(file, 'utf8')) as Data)
    return fewestCopies(this.#values, live, onDisk)
  }

  async #finish(): Promise<void> {
    const ready = (await this.readyPods()).filter(({ metadata }) => !this.#finished.has(metadata.uid ?? ''))
    if (ready.length === 0) return
    await this.write()
    for (const { metadata, status } of ready) {
      this.#finished.add(metadata.uid ?? '')
      await fetch(`http://${status?.podIP}:8080/finish`, { method: 'POST' })
    }
  }

  /** The volume has as many folders as there are to be members. */
  #sized<T extends object>(object: T): T {
    const copy = structuredClone(object) as T & { spec?: Sized & { jobTemplate?: { spec: Sized } } }
    const spec = copy.spec?.jobTemplate?.spec ?? copy.spec
    if (!spec?.template) return copy
    this.#folders = spec.replicas ?? spec.parallelism ?? this.#folders
    spec.template = this.#withFolders(spec.template)
    return copy
  }

  #withFolders(template: PodTemplateSpec): PodTemplateSpec {
    const [main] = template.spec!.containers
    const env = main!.env!.map((one) => (one.name === 'FOLDERS' ? { ...one, value: String(this.#folders) } : one))
    return { ...template, spec: { ...template.spec!, containers: [{ ...main!, env }] } }
  }
}

interface Sized {
  replicas?: number
  parallelism?: number
  template?: PodTemplateSpec
}

type Data = Record<string, { version: string; value: string }>

/** What a member has of these keys; undefined if it is none, or is about to end. */
async function dataOf(address: string, keys: string[]): Promise<Data | undefined> {
  const get = (path: string): Promise<Response | undefined> =>
    fetch(`http://${address}:8080${path}`).catch(() => undefined)
  const answer = await get('/copies')
  if (answer?.status !== 200) return undefined
  const versions = (await answer.json()) as Record<string, string>
  const entries = keys
    .filter((key) => versions[key])
    .map(async (key) => [key, await (await get(`/copies/${key}`))?.json()] as const)
  return Object.fromEntries(await Promise.all(entries)) as Data
}

function fewestCopies(values: ReadonlyMap<string, string>, live: Data[], onDisk: Data[]): Kept {
  const kept: Kept = { live: Infinity, all: Infinity, lost: [] }
  for (const [key, value] of values) {
    const copiesIn = (stores: Data[]): number => stores.filter((store) => store[key]?.value === value).length
    const atMembers = copiesIn(live)
    kept.live = Math.min(kept.live, atMembers)
    kept.all = Math.min(kept.all, atMembers + copiesIn(onDisk))
    if (atMembers + copiesIn(onDisk) === 0) kept.lost.push(key)
  }
  return kept
}
