/** Bodies that are much work for their bytes. */
import type { Request } from './attack.ts'
import { emptyMessages, envelope, field, podMessage } from './attacks/wire.ts'
import { times } from './times.ts'

const reviews = '/apis/authorization.k8s.io/v1'
const access = `${reviews}/selfsubjectaccessreviews`
const yaml = 'application/yaml'
const protobuf = 'application/vnd.kubernetes.protobuf'
const asked = '"nonResourceAttributes":{"path":"/","verb":"get"}'

/** A part again and again until the text has about so many bytes. */
const filled = (bytes: number, part: string): string => part.repeat(Math.max(1, Math.floor(bytes / part.length)))
/** Different parts, likewise. */
function numbered(bytes: number, part: (index: number) => string): string {
  const longest = part(1_000_000).length
  return times(Math.max(1, Math.floor(bytes / longest)), part).join('')
}

const inSpec = (rest: string): string => `{"spec":{${asked}${rest}}}`
const besides = (rest: string): string => `{"spec":{${asked}},${rest}}`

interface Body {
  path?: string
  type?: string
  body(bytes: number): string | Buffer
}

const json: Record<string, Body> = {
  objects: { body: (bytes) => besides(`"a":[${filled(bytes, '{},')}{}]`) },
  lists: { body: (bytes) => besides(`"a":[${filled(bytes, '[],')}[]]`) },
  numbers: { body: (bytes) => besides(`"a":[${filled(bytes, '1,')}1]`) },
  'members that no schema knows': { body: (bytes) => besides(`${numbered(bytes, (i) => `"a${i}":1,`)}"a":1`) },
  'one member again and again': { body: (bytes) => besides(`${filled(bytes, '"a":1,')}"a":1`) },
  'a long name, and below it names that stand twice': {
    path: `${access}?fieldValidation=Strict`,
    body: (bytes) =>
      besides(`"${filled(bytes / 2, 'a')}":{${numbered(bytes / 2, (i) => `"b${i}":1,"b${i}":1,`)}"a":1}`),
  },
  'a long name, and below it unknown names': {
    path: `${access}?fieldValidation=Strict`,
    body: (bytes) =>
      inSpec(`,"extra":{"${filled(bytes / 2, 'a')}":{${numbered(bytes / 2, (i) => `"b${i}":1,`)}"a":1}}`),
  },
  labels: { body: (bytes) => besides(`"metadata":{"labels":{${numbered(bytes, (i) => `"a${i}":"",`)}"a":""}}`) },
  managers: { body: (bytes) => besides(`"metadata":{"managedFields":[${filled(bytes, '{},')}{}]}`) },
  requirements: {
    body: (bytes) => `{"spec":{"resourceAttributes":{"labelSelector":{"requirements":[${filled(bytes, '{},')}{}]}}}}`,
  },
  'values of a requirement': {
    body: (bytes) =>
      `{"spec":{"resourceAttributes":{"labelSelector":{"requirements":[{"operator":"Exists","values":[${filled(bytes, '"",')}""]}]}}}}`,
  },
  'text that is no JSON': { body: (bytes) => besides(filled(bytes, '[')) },
  escapes: { body: (bytes) => besides(`"a":"${filled(bytes, '\\u0041')}"`) },
  'rules of a namespace': {
    path: `${reviews}/selfsubjectrulesreviews`,
    body: (bytes) => `{"spec":{"namespace":"default","a":[${filled(bytes, '{},')}{}]}}`,
  },
  'who am I': {
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: (bytes) => `{"a":[${filled(bytes, '{},')}{}]}`,
  },
}

const spec = 'spec: {nonResourceAttributes: {path: /, verb: get}}\n'

const yamls: Record<string, Body> = {
  maps: { body: (bytes) => `${spec}a: [${filled(bytes, '{},')}{}]` },
  lists: { body: (bytes) => `${spec}a: [${filled(bytes, '[],')}[]]` },
  'pairs in lists': { body: (bytes) => `${spec}a: [${filled(bytes, 'a: b,')}a: b]` },
  lines: { body: (bytes) => `${spec}${numbered(bytes, (i) => `a${i}: b\n`)}` },
  'one key again and again': { body: (bytes) => `${spec}${filled(bytes, 'a: b\n')}` },
  dashes: { body: (bytes) => `${spec}a:\n${filled(bytes, '- - - - -\n')}` },
  documents: { body: (bytes) => `${spec}${filled(bytes, '---\na\n')}` },
  aliases: { body: (bytes) => `a: &a {b: c}\n${spec}d: [${filled(bytes, '*a,')}*a]` },
  'aliases of a large map': {
    body: (bytes) => `a: &a {${numbered(bytes / 2, (i) => `b${i}: ,`)}}\n${spec}d: [${filled(bytes / 2, '*a,')}*a]`,
  },
  merges: {
    body: (bytes) =>
      `a: &a {${numbered(bytes / 2, (i) => `b${i}: ,`)}}\n${spec}${numbered(bytes / 2, (i) => `c${i}: {<<: *a}\n`)}`,
  },
  anchors: { body: (bytes) => `${spec}${numbered(bytes, (i) => `a${i}: &b${i} c\n`)}` },
  'brackets that stay open': { body: (bytes) => `${spec}a: ${filled(bytes, '[{a: ')}` },
  blanks: { body: (bytes) => `${spec}a: [${filled(bytes, ', ')}` },
  'text in quotes over lines': { body: (bytes) => `${spec}a: "${filled(bytes, '\\u0041\n ')}"` },
  JSON: { body: (bytes) => `{"spec": {${asked}}, "a": [${filled(bytes, '{},')}{}], b: c}` },
}

const review = (raw: Buffer): Buffer => envelope('authorization.k8s.io/v1', 'SelfSubjectAccessReview', raw)

const messages: Record<string, Body> = {
  'empty messages': { body: (bytes) => review(emptyMessages(2, bytes)) },
  'managers that are empty': { body: (bytes) => review(field(1, emptyMessages(17, bytes))) },
  'owners that are empty': { body: (bytes) => review(field(1, emptyMessages(13, bytes))) },
  'labels that are empty': { body: (bytes) => review(field(1, emptyMessages(11, bytes))) },
  'fields that are unknown': { body: (bytes) => review(emptyMessages(15, bytes)) },
}

const request = ({ path = access, type, body }: Body, bytes: number): Request => ({
  method: 'POST',
  path,
  type,
  body: body(bytes),
})

const named = (kind: string, bodies: Record<string, Body>, type?: string): [string, Body][] =>
  Object.entries(bodies).map(([name, body]) => [`${kind}: ${name}`, { type, ...body }])

const reviewBodies = [...named('JSON', json), ...named('YAML', yamls, yaml), ...named('protobuf', messages, protobuf)]

export interface NamedRequest {
  name: string
  request: Request
}

/** What anybody may send who may do nothing but ask what it may do. */
export const reviewsOf = (bytes: number): NamedRequest[] =>
  reviewBodies.map(([name, body]) => ({ name: `${name}, ${bytes} bytes`, request: request(body, bytes) }))

const containers = (list: string): string => `{"metadata":{"name":"x"},"spec":{"containers":[${list}]}}`
const one = '"name":"a","image":"a"'

const podBodies = [
  ...named('JSON', {
    'empty containers': { body: (bytes) => containers(`${filled(bytes, '{},')}{}`) },
    containers: { body: (bytes) => containers(`${numbered(bytes, (i) => `{"name":"c${i}","image":"a"},`)}{${one}}`) },
    'empty variables': { body: (bytes) => containers(`{${one},"env":[${filled(bytes, '{},')}{}]}`) },
    'empty volumes': {
      body: (bytes) =>
        `{"metadata":{"name":"x"},"spec":{"volumes":[${filled(bytes, '{},')}{}],"containers":[{${one}}]}}`,
    },
    'words of a command': { body: (bytes) => containers(`{${one},"command":[${filled(bytes, '"",')}""]}`) },
    annotations: {
      body: (bytes) =>
        `{"metadata":{"name":"x","annotations":{${numbered(bytes, (i) => `"a${i}":"",`)}"a":""}},"spec":{"containers":[{${one}}]}}`,
    },
    finalizers: {
      body: (bytes) =>
        `{"metadata":{"name":"x","finalizers":[${filled(bytes, '"a/b",')}"a/b"]},"spec":{"containers":[{${one}}]}}`,
    },
    'unknown members': { body: (bytes) => containers(`{${one},${numbered(bytes, (i) => `"a${i}":1,`)}"a":1}`) },
    'objects within objects': { body: (bytes) => containers(`{${one}},${filled(bytes, '{"env":[{}]},')}{}`) },
  }),
  ...named(
    'protobuf',
    {
      // Numbers of fields of a PodSpec.
      'empty containers': { body: (bytes) => podMessage(emptyMessages(2, bytes)) },
      'empty volumes': { body: (bytes) => podMessage(emptyMessages(1, bytes)) },
      'empty variables': { body: (bytes) => podMessage(field(2, emptyMessages(7, bytes))) },
      'words of a command': { body: (bytes) => podMessage(field(2, emptyMessages(3, bytes))) },
      'empty managers': { body: (bytes) => envelope('v1', 'Pod', field(1, emptyMessages(17, bytes))) },
    },
    protobuf,
  ),
  ...named(
    'YAML',
    {
      'empty containers': { body: (bytes) => `metadata: {name: x}\nspec: {containers: [${filled(bytes, '{},')}{}]}` },
      'empty variables': {
        body: (bytes) =>
          `metadata: {name: x}\nspec: {containers: [{name: a, image: a, env: [${filled(bytes, '{},')}{}]}]}`,
      },
    },
    yaml,
  ),
]

/** What a client may send that may create pods and no more. */
export const podsOf = (bytes: number, namespace = 'default'): NamedRequest[] =>
  podBodies.map(([name, body]) => ({
    name: `${name}, ${bytes} bytes`,
    request: request({ path: `/api/v1/namespaces/${namespace}/pods?dryRun=All`, ...body }, bytes),
  }))
