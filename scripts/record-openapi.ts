/**
 * Writes what of `openapi/input/` comes from the OpenAPI documents of a running server, that of the current kubeconfig:
 * `options.json`, `group-versions.json` and `descriptions.json`.
 *   KUBECONFIG=… node scripts/record-openapi.ts
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'

interface Parameter {
  name: string
  in: string
  description: string
  schema: { type: string }
}
type Item = Record<string, { parameters?: Parameter[] }> & { parameters: Parameter[] }
interface Document {
  paths: Record<string, Item>
  components: {
    schemas?: Record<string, { description?: string; properties?: Record<string, { description?: string }> }>
  }
}
interface Swagger {
  definitions: Record<string, { 'x-kubernetes-group-version-kind': { group: string; version: string }[] }>
}

const read = (path: string): unknown =>
  JSON.parse(execFileSync('kubectl', ['get', '--raw', path], { maxBuffer: 64 << 20, encoding: 'utf8' }))
const { paths } = read('/openapi/v3/api/v1') as Document
const { definitions } = read('/openapi/v2') as Swagger

const pods = '/api/v1/namespaces/{namespace}/pods'
const pod = `${pods}/{name}`
const proxied = '/api/v1/nodes/{name}/proxy/{path}'
const everywhere = ['pretty']

/** Name of a Go type → its fields as query parameters. */
const options = (parameters: Parameter[] = [], but: string[] = everywhere) =>
  Object.fromEntries(
    parameters
      .filter((parameter) => parameter.in === 'query' && !but.includes(parameter.name))
      .map(({ name, schema: { type }, description }) => [name, { type, description }]),
  )
const shared = [...paths[pods]!.parameters, ...paths[proxied]!.parameters]
const byPlace = (name: string, place: string) => {
  const { schema, description } = shared.find((one) => one.name === name && one.in === place)!
  return [name, { type: schema.type, description }]
}
const recorded = {
  '': Object.fromEntries([byPlace('namespace', 'path'), byPlace('path', 'path'), byPlace('pretty', 'query')]),
  CreateOptions: options(paths[pods]!.post!.parameters),
  DeleteOptions: options(paths[pod]!.delete!.parameters),
  ListOptions: options(paths[pods]!.get!.parameters),
  NodeProxyOptions: options(paths['/api/v1/nodes/{name}/proxy']!.parameters),
  PatchOptions: options(paths[pod]!.patch!.parameters),
  PodAttachOptions: options(paths[`${pod}/attach`]!.parameters),
  PodExecOptions: options(paths[`${pod}/exec`]!.parameters),
  PodLogOptions: options(paths[`${pod}/log`]!.parameters),
  PodPortForwardOptions: options(paths[`${pod}/portforward`]!.parameters),
  PodProxyOptions: options(paths[`${pod}/proxy`]!.parameters),
  ServiceProxyOptions: options(paths['/api/v1/namespaces/{namespace}/services/{name}/proxy']!.parameters),
}
const known = definitions['io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions']!['x-kubernetes-group-version-kind']

/** Type → description of the type under `''`, and of each field. */
const descriptions: Record<string, Record<string, string>> = {}
for (const path of Object.keys((read('/openapi/v3') as Document).paths)) {
  const { schemas = {} } = (read(`/openapi/v3/${path}`) as Document).components
  for (const [type, { description, properties = {} }] of Object.entries(schemas)) {
    if (!type.startsWith('io.k8s.')) continue
    const fields = Object.entries(properties).flatMap(([name, field]) =>
      field.description ? [[name, field.description]] : [],
    )
    descriptions[type] = { ...(description && { '': description }), ...Object.fromEntries(fields) }
  }
}

const write = (name: string, value: object): void =>
  writeFileSync(new URL(`../openapi/input/${name}`, import.meta.url), `${JSON.stringify(value, null, 1)}\n`)

write('options.json', recorded)
write('descriptions.json', Object.fromEntries(Object.entries(descriptions).sort(([a], [b]) => (a < b ? -1 : 1))))
write(
  'group-versions.json',
  known.map(({ group, version }) => (group ? `${group}/${version}` : version)),
)
