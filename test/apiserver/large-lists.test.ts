/** A list that is sent in parts is, in each form, what it would be in one piece. */
import * as yaml from 'js-yaml'
import t from 'tap'
import { encodeProtobuf } from '../../apiserver/protobuf/encode.ts'
import { parseStored, toJson } from '../../shared/api/json/exact-json.ts'
import { dumpOptions } from '../../shared/api/json/yaml-schema.ts'
import { startTestApiServer } from '../harness/api-server.ts'

const server = await startTestApiServer(t)
const configMaps = '/api/v1/namespaces/default/configmaps'
/** More than fits into one batch; texts that YAML and JSON write in odd ways. */
const texts = ['a: b\n- c\n', ' "x"\t', 'yes', '0644', `${'x'.repeat(2_000)}\n`, '😀\u0007', '']
for (let index = 0; index < 120; index++) {
  const data = Object.fromEntries(texts.map((text, at) => [`k${at}`, text.repeat(1 + (index % 2))]))
  const body = { metadata: { name: `c${index}`, annotations: { 'a.b/c': '9'.repeat(index) } }, data }
  await server.send(configMaps, { method: 'POST', body })
}
const get = async (accept: string, path = configMaps): Promise<Buffer> =>
  (await server.send(path, { headers: { accept } })).bytes

/** Objects of a Table get older between two requests. */
const ageless = (text: string | Buffer): string => String(text).replace(/\b\d+s\b/g, 'age')

const forms = {
  'application/json;as=Table;v=v1;g=meta.k8s.io': 'rows',
  'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io': 'items',
  'application/json': 'items',
}
for (const [accept, elements] of Object.entries(forms)) {
  const plain = await get(accept)
  const list = parseStored(plain.toString()) as Record<string, unknown>

  t.test(`${accept}: JSON, indented and in YAML`, async (t) => {
    t.equal((list[elements] as unknown[]).length, 120)
    t.ok(plain.length > 64 * 1024 || elements === 'items', `${plain.length} bytes`)
    t.equal(ageless(await get(accept, `${configMaps}?pretty=true`)), ageless(toJson(list, { indent: 2 })))
    const inYaml = await get(accept.replace('/json', '/yaml'))
    t.equal(ageless(inYaml), ageless(yaml.dump(list, dumpOptions(yaml))))
  })

  t.test(`${accept}: HTTP/2`, async (t) => {
    const session = server.session()
    const parts = await session.request({ ':path': configMaps, accept }).toArray()
    session.close()
    t.equal(ageless(Buffer.concat(parts)), ageless(plain))
  })

  t.test(`${accept}: protobuf`, async (t) => {
    const answer = await server.send(configMaps, {
      headers: { accept: accept.replace('json', 'vnd.kubernetes.protobuf') },
    })
    if (elements === 'rows') t.equal(answer.status, 406)
    else t.ok(answer.bytes.equals(encodeProtobuf(list as never)!), 'the same bytes')
  })
}
