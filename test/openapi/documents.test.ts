import { readFileSync } from 'node:fs'
import t from 'tap'
import { openapiParts, openapiV3 } from '../../apiserver/http/openapi/documents.ts'
import { openapiV2 } from '../../apiserver/http/openapi/v2.ts'
import { resources } from '../../apiserver/resources/index.ts'
import { generate } from '../../openapi/generate.ts'
import { structType } from '../../openapi/types.ts'

interface Document {
  paths: Record<
    string,
    Record<string, { 'x-kubernetes-group-version-kind'?: { kind: string }; parameters?: { name: string }[] }>
  >
  components: { schemas: Record<string, Schema> }
}
interface Schema {
  description?: string
  properties?: Record<string, Schema & { allOf?: { $ref: string }[] }>
  [key: string]: unknown
}

t.test('the committed data is what the generator makes', async (t) => {
  for (const [name, text] of Object.entries(generate())) {
    const committed = readFileSync(new URL(`../../openapi/data/${name}`, import.meta.url), 'utf8')
    t.ok(committed === text, name)
  }
})

const core = openapiParts(resources).find(({ path }) => path === 'api/v1')!
const document = openapiV3(core) as Document

t.test('kubectl finds what it looks for', async (t) => {
  const patch = document.paths['/api/v1/namespaces/{namespace}/pods/{name}']?.patch
  t.equal(patch?.['x-kubernetes-group-version-kind']?.kind, 'Pod')
  t.ok(patch?.parameters?.some(({ name }) => name === 'fieldValidation'))
  const pod = document.components.schemas['io.k8s.api.core.v1.Pod']
  t.match(pod, { 'x-kubernetes-group-version-kind': [{ group: '', version: 'v1', kind: 'Pod' }] })
})

t.test('every reference leads somewhere', async (t) => {
  for (const whole of [document, openapiV2(resources)]) {
    const references = [...JSON.stringify(whole).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = '']) => path)
    const lost = new Set(references).values().filter((path) => {
      const keys = path.split('/')
      return !keys.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], whole)
    })
    t.same([...lost], [])
  }
})

t.test('our fields can be explained', async (t) => {
  const { schemas } = document.components
  t.ok(
    schemas['io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions']?.properties?.reason?.description,
    'DeleteOptions has a reason',
  )
  t.ok(
    schemas['io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta']?.properties?.reason?.description,
    'ObjectMeta has a reason',
  )
  const preStop = schemas['io.k8s.api.core.v1.Lifecycle']?.properties?.preStop?.allOf?.[0]?.$ref.split('/').at(-1) ?? ''
  t.ok(schemas[preStop]?.properties?.reasonDelivery?.description, 'preStop has a reasonDelivery')
  t.same(
    Object.keys(schemas['io.k8s.api.core.v1.TerminationReasonDelivery']?.properties ?? {}),
    ['env', 'header'],
    'of env and header',
  )
  const { terminationGracePeriodSeconds } = schemas['io.k8s.api.core.v1.Probe']?.properties ?? {}
  t.match(terminationGracePeriodSeconds, { type: 'integer', format: 'int64' }, 'a probe has an integer more')
  t.notOk(structType('io.k8s.api.core.v1.LifecycleHandler').byName.has('reasonDelivery'))
})
