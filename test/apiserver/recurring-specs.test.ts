/** Pods of one template: what is known of their spec changes no answer. */
import t from 'tap'
import { RecurringSpecs } from '../../apiserver/http/body/recurring-specs.ts'
import { pod } from '../../apiserver/resources/core/pod/index.ts'
import { startTestApiServer } from '../harness/api-server.ts'

const spec = JSON.stringify({
  containers: [
    {
      name: 'main',
      image: 'busybox:1.37',
      env: [{ name: 'TEXT', value: 'a "quoted" } text' }],
      ports: [{ containerPort: 80 }],
    },
    { name: 'other', image: 'busybox:1.37', resources: { requests: { memory: '1.5Gi' } } },
  ],
})
const body = (metadata: string, tail = `,"spec":${spec}}`): string =>
  `{"apiVersion":"v1","kind":"Pod","metadata":${metadata}${tail}`

/** Bodies that end with the spec, each with what is special about it. */
const bodies: Readonly<Record<string, string>> = {
  'another name': body('{"name":"web-1"}'),
  'blanks between members': body('{"name": "web-1"}').replace(',"spec":', ', "spec":'),
  'labels and annotations': body('{"name":"web-1","labels":{"app":"web"},"annotations":{"note":"a"}}'),
  'the text of a body in an annotation': body(
    `{"name":"web-1","annotations":{"last":${JSON.stringify(body('{"name":"web-1"}'))}}}`,
  ),
  'an unknown field of the metadata': body('{"name":"web-1","colour":"red"}'),
  'an unknown field of the object': body('{"name":"web-1"},"colour":"red"'),
  'a label that stands twice': body('{"name":"web-1","labels":{"a":"1","a":"2"}}'),
  'a spec that stands twice': body('{"name":"web-1"},"spec":{"nodeName":"n"}'),
  'a label that is a number': body('{"name":"web-1","labels":{"a":1}}'),
  'a generation beyond all doubles': body('{"name":"web-1","generation":9007199254740993}'),
  'a generation with a fraction': body('{"name":"web-1","generation":1.5}'),
  'no managedFields': body('{"name":"web-1","managedFields":[]}'),
  'no name': body('{}'),
  'metadata that are a text': body('"web-1"'),
  'an unknown word': body('{"name":web-1}'),
  'another kind': body('{"name":"web-1"}').replace('"Pod"', '"Node"'),
  'no kind': body('{"name":"web-1"}').replace('"kind":"Pod",', ''),
  'another version': body('{"name":"web-1"}').replace('"v1"', '"v2"'),
  'a spec in the metadata': body(`{"name":"web-1","spec":${spec}}`, '}'),
  'a list before it': `[${body('{"name":"web-1"}')}`,
}

t.test('an answer does not depend on whether the spec of the body was known by its text', async (t) => {
  const { send } = await startTestApiServer(t, {})
  const limits = { limits: [{ type: 'Container', default: { cpu: '1' } }] }
  const range = { apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'cpu' }, spec: limits }
  t.equal((await send('/api/v1/namespaces/default/limitranges', { method: 'POST', body: range })).status, 201)
  const create = async (text: string, query: string) => {
    const path = `/api/v1/namespaces/default/pods?${query}`
    const { status, headers, body } = await send(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: text,
    })
    const shown = JSON.stringify(body)
      .replace(/"(uid|time|creationTimestamp)":"[^"]*"/g, '')
      .replace(/kube-api-access-\w+/g, 'token')
    return { status, warning: headers.warning, shown }
  }
  for (const name of ['web-1', 'web-2', 'web-3', 'web-4'])
    t.equal((await create(body(`{"name":"${name}"}`), '')).status, 201, 'the template becomes known')
  for (const validation of ['Warn', 'Strict', 'Ignore']) {
    for (const [what, text] of Object.entries(bodies)) {
      const query = `dryRun=All&fieldValidation=${validation}`
      const once = text.replaceAll('web-1', 'web-9')
      // A blank at its end makes a text that is not known.
      t.same(await create(once, query), await create(`${once} `, query), `${validation}: ${what}`)
    }
  }
})

t.test('the text of a spec is known after two bodies that end alike', (t) => {
  const specs = new RecurringSpecs(pod)
  const texts = ['a', 'b', 'c'].map((name) => body(`{"name":"${name}"}`))
  const made = (text: string): unknown => (JSON.parse(text) as { spec: unknown }).spec
  specs.learn(texts[0]!, made(texts[0]!))
  t.equal(specs.read(texts[1]!), undefined)
  specs.learn(texts[1]!, made(texts[1]!))
  const read = specs.read(texts[2]!)
  t.same(read, JSON.parse(texts[2]!))
  t.ok(Object.isFrozen(read!.spec))
  t.equal(specs.read(texts[0]!)!.spec, read!.spec, 'they share it')
  t.equal(specs.read(body('{"name":"d"}', `,"spec":${spec.replace('main', 'mein')}}`)), undefined, 'another spec')
  t.equal(specs.read(body(`{"name":"${'d'.repeat(4_000)}"}`)), undefined, 'much before it')
  specs.learn(texts[0]!, made(texts[0]!))
  specs.learn(texts[0]!, made(texts[0]!))
  t.equal(specs.read(texts[1]!)!.spec, read!.spec, 'what is known is not learned again')
  const withoutSpec = body('{"name":"e"}', ',"spec":null,"status":{}}')
  for (let i = 0; i < 2; i++) specs.learn(withoutSpec, { made: 'by defaults' })
  t.equal(specs.read(withoutSpec), undefined, 'what follows a spec that is none is not taken for one')
  t.end()
})

t.test('templates in turn become known as well, four at the most', (t) => {
  const specs = new RecurringSpecs(pod)
  const text = (template: number): string => body('{"name":"a"}', `,"spec":{"nodeName":"n${template}"},"status":{}}`)
  const learn = (template: number): void => specs.learn(text(template), { template })
  for (const template of [1, 2, 3, 4, 1, 2, 3, 4, 5, 5]) learn(template)
  t.same(specs.read(text(5)), {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a' },
    spec: { template: 5 },
    status: {},
  })
  t.ok(specs.read(text(2)))
  t.equal(specs.read(text(1)), undefined)
  t.end()
})
