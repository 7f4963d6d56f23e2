import type { Event, Pod } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { events, pods, serviceAccounts } from '../../shared/client/resources.ts'
import { type ClusterAccess, createRestClient, type ServerClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { until } from '../harness/until.ts'
import type { Attack, Places } from './attacks.ts'
import { ensureNamespace, unlessThere } from './namespace.ts'

const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' }
const name = 'attacker'
/** Where its pods are. */
export const attackNamespace = 'attack'

/** A service account that may create pods in its namespace, and no more; an administrator removes what it has made. */
export class PodAttacker {
  readonly namespace = attackNamespace
  readonly client: ServerClient
  readonly token: string
  readonly #admin: Client
  readonly #made = new Set<string>()

  private constructor(admin: Client, { server, ca }: ClusterAccess, token: string) {
    this.#admin = admin
    this.token = token
    this.client = createRestClient({ server, ca, token, clock: realClock })
  }

  /** The account may be there already. */
  static async start(admin: Client, access: ClusterAccess): Promise<PodAttacker> {
    const namespace = attackNamespace
    await ensureNamespace(admin, namespace)
    const objects: [object, object][] = [
      [serviceAccounts, { metadata: { name } }],
      [
        { ...rbac, plural: 'roles' },
        { metadata: { name }, rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['create'] }] },
      ],
      [
        { ...rbac, plural: 'rolebindings' },
        {
          metadata: { name },
          roleRef: { apiGroup: rbac.group, kind: 'Role', name },
          subjects: [{ kind: 'ServiceAccount', name, namespace }],
        },
      ],
    ]
    for (const [resource, object] of objects)
      await admin.create(resource as typeof serviceAccounts, object, { namespace }).catch(unlessThere)
    const request = { namespace, name, subresource: 'token' }
    const { status } = await admin.create<{ status?: { token: string } }>(serviceAccounts, {}, request)
    return new PodAttacker(admin, access, status?.token ?? '')
  }

  /** Resolves when the attack has had its effect, or has none; to false if the store takes no such pod (413). */
  async attack(attack: Attack, places: Places): Promise<boolean> {
    const { namespace } = this
    try {
      for (const pod of attack.pods(places)) {
        await this.client.create(pods, pod, { namespace })
        this.#made.add(pod.metadata.name ?? '')
      }
    } catch (error) {
      if ((error as { code?: number }).code === 413) return false
      throw error
    }
    const isOver = async (): Promise<boolean> => {
      const { items } = await this.#admin.list<Event>(events, { namespace })
      const told = items.map(({ message }) => message ?? '')
      return (await this.#left()).every((pod) => attack.isOver(pod, told))
    }
    await until(isOver, { what: attack.name, timeoutMs: 120_000 })
    return true
  }

  /** Resolves when its pods are gone. */
  async clear(): Promise<void> {
    const { namespace } = this
    for (const name of this.#made) await this.#admin.delete(pods, { namespace, name })
    const isGone = async () => (await this.#left()).length === 0
    await until(isGone, { what: 'its pods to be gone', timeoutMs: 120_000 })
    this.#made.clear()
  }

  async #left(): Promise<Pod[]> {
    const { items } = await this.#admin.list<Pod>(pods, { namespace: this.namespace })
    return items.filter(({ metadata }) => this.#made.has(metadata.name ?? ''))
  }

  close(): Promise<void> {
    return this.client.close()
  }
}
