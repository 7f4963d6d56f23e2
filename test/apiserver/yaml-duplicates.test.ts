import t from 'tap'
import { startTestApiServer } from '../harness/api-server.ts'

/** The lines of a ConfigMap below `metadata: {name: c}`, and what a strict reader says of them. */
const bodies: Readonly<Record<string, [data: string, messages: string[]]>> = {
  'a block mapping': ['data:\n  a: "1"\n  a: "2"', ['line 6: key "a" already set in map']],
  'a flow mapping': ['data: {a: "1", a: "2"}', ['line 4: key "a" already set in map']],
  'a flow mapping over lines': ['data: {a: "1",\n  b: "2", a : "3"}', ['line 5: key "a" already set in map']],
  'a flow mapping with quotes': [`data: {"a b": "1", 'a b': "2"}`, ['line 4: key "a b" already set in map']],
  'two block mappings': [
    'data:\n  a: "1"\n  a: "2"\nbinaryData:\n  x: ""\n  x: ""',
    ['line 6: key "a" already set in map', 'line 9: key "x" already set in map'],
  ],
}

t.test('a strict reader says which key of a YAML body stands twice, and where', async (t) => {
  const { send } = await startTestApiServer(t)
  for (const [what, [data, messages]] of Object.entries(bodies)) {
    const text = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n${data}\n`
    const { status, body } = await send('/api/v1/namespaces/default/configmaps?fieldValidation=Strict&dryRun=All', {
      method: 'POST',
      headers: { 'content-type': 'application/yaml' },
      body: text,
    })
    const expected = `ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: yaml: unmarshal errors:\n${messages.map((message) => `  ${message}`).join('\n')}`
    t.equal(status, 400, what)
    t.equal((body as { message: string }).message, expected, what)
  }
})
