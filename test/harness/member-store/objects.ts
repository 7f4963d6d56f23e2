/** The objects of examples/member-store. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import type { KubeObject, Node } from '../../../shared/api/types.ts'
import type { StatefulSet } from '../../../shared/api/workloads/workloads.ts'
import type { Client, Resource } from '../../../shared/client/client.ts'
import { nodes, serviceAccounts, services, statefulSets } from '../../../shared/client/resources.ts'
import { repository } from '../cluster.ts'

export const exampleFolder = join(repository, 'examples', 'member-store')

const rbac = (plural: string): Resource => ({ group: 'rbac.authorization.k8s.io', version: 'v1', plural })
const collections: Record<string, Resource> = {
  Service: services,
  ServiceAccount: serviceAccounts,
  Role: rbac('roles'),
  RoleBinding: rbac('rolebindings'),
  StatefulSet: statefulSets,
}

const objects = loadAll(readFileSync(join(exampleFolder, 'store.yaml'), 'utf8')) as KubeObject[]
const isWorkload = ({ kind }: KubeObject): boolean => kind === 'StatefulSet'

export const memberTemplate = (objects.find(isWorkload) as StatefulSet).spec.template

/** Why members cannot run here; false if they can. */
export async function whySkip(client: Client): Promise<string | false> {
  const [node] = (await client.list<Node>(nodes)).items
  return node?.metadata.labels?.['kubestage.dev/files'] !== 'own' && 'nothing is mounted here at paths of its own'
}

/** What members need to find each other. */
export const createSurroundings = (client: Client, namespace: string): Promise<void> =>
  create(
    client,
    namespace,
    objects.filter((object) => !isWorkload(object)),
  )

export const createWorkload = (client: Client, namespace: string): Promise<void> =>
  create(client, namespace, objects.filter(isWorkload))

async function create(client: Client, namespace: string, objects: KubeObject[]): Promise<void> {
  for (const object of objects) await client.create(collections[object.kind ?? '']!, object, { namespace })
}
