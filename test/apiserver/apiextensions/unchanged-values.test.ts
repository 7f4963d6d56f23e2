/** A value that breaks a rule made later may stay while it does not change; as on a real server the writer is warned. */
import t from 'tap'
import { startTestApiServer } from '../../harness/api-server.ts'
import { until } from '../../harness/until.ts'

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const boxes = '/apis/example.com/v1/namespaces/default/boxes'
const headers = { 'content-type': 'application/merge-patch+json' }

/** `strict`: with the rules, and with bounds that are no rules. */
const definitionOf = (strict: boolean) => {
  const rules = (...list: [rule: string, message?: string][]) => ({
    ...(strict && {
      'x-kubernetes-validations': list.map(([rule, message]) => ({ rule, ...(message && { message }) })),
    }),
  })
  const spec = {
    type: 'object',
    properties: {
      color: { type: 'string' },
      size: { type: 'integer', ...(strict && { maximum: 3 }) },
      odd: { type: 'integer', ...rules(['self % 2 == 1']) },
      part: {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'string' } },
        ...rules(['self.a == "y"', 'a must be y']),
      },
    },
    ...rules(['self.color != "red"', 'not red']),
  }
  const status = { type: 'object', properties: { n: { type: 'integer' } } }
  return {
    metadata: { name: 'boxes.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'boxes', kind: 'Box' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', properties: { spec, status } } },
        },
      ],
    },
  }
}

t.test('warnings for unchanged values that break a rule', async (t) => {
  const { send } = await startTestApiServer(t)
  t.equal((await send(definitions, { method: 'POST', body: definitionOf(false) })).status, 201)
  const box = {
    apiVersion: 'example.com/v1',
    kind: 'Box',
    metadata: { name: 'b' },
    spec: { color: 'red', size: 9, odd: 2, part: { a: 'x' } },
  }
  const create = async () => (await send(boxes, { method: 'POST', body: box })).status === 201
  await until(create, { what: 'boxes to be served' })
  const strict = { spec: { versions: definitionOf(true).spec.versions } }
  t.equal((await send(`${definitions}/boxes.example.com`, { method: 'PATCH', headers, body: strict })).status, 200)
  const patch = async (body: object, subresource = '') => {
    const answer = await send(`${boxes}/b${subresource}`, { method: 'PATCH', headers, body })
    const given = answer.headers.warning ?? []
    const warnings = [given].flat().flatMap((text) => text.split(/, (?=299 )/))
    return { status: answer.status, warnings: warnings.map((text) => text.replace(/^299 - "(.*)"$/, '$1')).sort() }
  }
  const isStrict = async () => (await patch({ metadata: { labels: { a: 'b' } } })).warnings.length > 0
  await until(isStrict, { what: 'the rules to hold' })

  const red = 'spec: Invalid value: not red'
  const odd = 'spec.odd: Invalid value: 2: failed rule: self % 2 == 1'
  const part = 'spec.part: Invalid value: a must be y'
  t.same(await patch({ metadata: { labels: { x: 'y' } } }), { status: 200, warnings: [odd, part, red].sort() })
  t.same(await patch({ status: { n: 1 } }, '/status'), { status: 200, warnings: [odd, part, red].sort() })
  t.same(
    await patch({ spec: { odd: 4 } }),
    { status: 422, warnings: [part] },
    'what changed is refused, the rest is warned of',
  )
  t.same(await patch({ spec: { color: 'blue' } }), { status: 200, warnings: [odd, part].sort() })
  t.same(await patch({ spec: { part: { a: 'y' } } }), { status: 200, warnings: [odd] })
  t.same(await patch({ spec: { odd: 3 } }), { status: 200, warnings: [] })
})
