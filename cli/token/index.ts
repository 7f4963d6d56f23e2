import {
  type BootstrapTokenSecret,
  bootstrapTokenNamespace,
  bootstrapTokenType,
  parseToken,
  secretNameOf,
  tokenForm,
} from '../../shared/api/bootstrap-token.ts'
import { ignoreNotFound, isStatus } from '../../shared/api/status/status-error.ts'
import type { ConfigMap, KubeObject } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { configMaps, secrets, selfSubjectReviews } from '../../shared/client/resources.ts'
import type { ClusterAccess } from '../../shared/client/rest-client.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'
import { ConfigError, UsageError } from '../../shared/config/option.ts'
import type { Resolved } from '../../shared/config/resolve.ts'
import { clusterPlace, type Place } from '../access/cluster-access.ts'
import { withClient } from '../access/cluster-client.ts'
import { command } from '../command.ts'
import { outputOption, printData, printTable } from '../terminal/output.ts'
import { unknownWord } from '../terminal/unknown-word.ts'
import { joinCommand } from './join-command.ts'
import { tableOf } from './list.ts'
import { createOptions } from './options.ts'
import { expiration, newToken, readSecret, secretOf, textOf } from './secret.ts'

const usage = '(create [TOKEN] | list | delete (TOKEN | ID)… | generate)'
const options = { ...clusterPlace, ...createOptions, output: outputOption }
type Request = Resolved<typeof options>

const deeds: Readonly<Record<string, (request: Request, words: string[]) => Promise<void>>> = {
  create,
  list,
  delete: remove,
  generate,
}

export default command({
  purpose: 'Creates, lists and deletes bootstrap tokens, with which machines join the cluster as nodes.',
  usage,
  options,
  notes: [
    '  create    prints a new token, or with --print-join-command what to type on the machine that is to join',
    '  list      all tokens, with their secrets',
    '  delete    by the whole token, or by the six letters before the dot',
    '  generate  prints a token, and creates nothing',
    '',
    'Words, flags and output are those of kubeadm token.',
    '  kubestage token create --ttl 2h --print-join-command',
  ],
  async complete({ values, positionals: [word] }) {
    if (word === undefined) return Object.keys(deeds)
    return word === 'delete' ? (await tokensOf(values)).tokens.map(({ token }) => token.slice(0, 6)) : []
  },
  async run(request) {
    const [word, ...words] = request.positionals
    if (word === undefined) throw new UsageError(`usage: kubestage token ${usage}`)
    const deed = Object.hasOwn(deeds, word) ? deeds[word] : undefined
    if (!deed) throw unknownWord('token', word, Object.keys(deeds))
    await deed(request, words)
    return 0
  },
})

async function create({ values, origins }: Request, words: string[]): Promise<void> {
  const [given, ...surplus] = words
  if (surplus.length > 0) throw new UsageError('usage: kubestage token create [TOKEN] [flags]')
  const token = given === undefined ? newToken() : parseToken(given)
  if (!token) throw new UsageError(`the bootstrap token ${JSON.stringify(given)} is not of the form ${tokenForm}`)
  const { ttl, description, usages, groups, printJoinCommand, server, output } = values
  const mayAuthenticate = usages.includes('authentication')
  if (!mayAuthenticate && groups.length > 0 && origins.groups !== 'default')
    throw new UsageError('--groups are those of a client: --usages has to include authentication')
  const { expires, joining } = await withClient(values, async (client, access) => {
    const joining = printJoinCommand
      ? joinCommand({ ...access, server: await serverForNodes(client, access) }, textOf(token), server)
      : undefined
    const expires = ttl === 0 ? undefined : expiration(await serverTimeMs(client), ttl)
    const facts = { expires, description, usages, groups: mayAuthenticate ? groups : [] }
    await client.create(secrets, secretOf(token, facts)).catch((error) => {
      if (!isStatus(error, 'AlreadyExists')) throw error
      throw new ConfigError(
        `a token with id "${token.id}" already exists; kubestage token delete ${token.id} removes it`,
      )
    })
    return { expires, joining }
  })
  if (joining?.notice) process.stderr.write(`kubestage: ${joining.notice}\n`)
  if (output !== 'text') await printData(output, { token: textOf(token), expires, joinCommand: joining?.text })
  else process.stdout.write(`${joining?.text ?? textOf(token)}\n`)
}

/** Resolves to the server that `cluster-info` names: `--control-plane-endpoint` if the servers have one. */
async function serverForNodes(client: Client, { server }: ClusterAccess): Promise<string> {
  const ref = { namespace: 'kube-public', name: 'cluster-info' }
  const info = await client.get<ConfigMap>(configMaps, ref).catch(ignoreNotFound)
  return /^ *server: (https:\S+)$/m.exec(info?.data?.kubeconfig ?? '')?.[1] ?? server
}

async function list({ values }: Request, words: string[]): Promise<void> {
  if (words.length > 0) throw new UsageError('usage: kubestage token list')
  const { tokens, nowMs } = await tokensOf(values)
  if (values.output !== 'text') await printData(values.output, tokens)
  else printTable(tableOf(tokens, nowMs))
}

async function remove({ values }: Request, words: string[]): Promise<void> {
  if (words.length === 0) throw new UsageError('usage: kubestage token delete (TOKEN | ID)…')
  const ids = words.map((word) => {
    const id = parseToken(word)?.id ?? (/^[a-z0-9]{6}$/.test(word) ? word : undefined)
    if (id === undefined) throw new UsageError(`"${word}" is neither a token (${tokenForm}) nor its id ([a-z0-9]{6})`)
    return id
  })
  await withClient(values, async (client) => {
    for (const id of ids) {
      const ref = { namespace: bootstrapTokenNamespace, name: secretNameOf(id) }
      await client.delete(secrets, ref).catch((error) => {
        if (!isStatus(error, 'NotFound')) throw error
        throw new ConfigError(`bootstrap token "${id}" not found; kubestage token list shows all`)
      })
      process.stdout.write(`bootstrap token "${id}" deleted\n`)
    }
  })
}

async function generate(_request: Request, words: string[]): Promise<void> {
  if (words.length > 0) throw new UsageError('usage: kubestage token generate')
  process.stdout.write(`${textOf(newToken())}\n`)
}

/** Resolves to the tokens, and the server's time, by which they expire. */
const tokensOf = (place: Place) =>
  withClient(place, async (client) => {
    const selection = { namespace: bootstrapTokenNamespace, fieldSelector: `type=${bootstrapTokenType}` }
    const { items } = await client.list<BootstrapTokenSecret>(secrets, selection)
    return { tokens: items.flatMap((secret) => readSecret(secret) ?? []), nowMs: await serverTimeMs(client) }
  })

/** Resolves to the time by which tokens expire: the server's, which may run faster than this machine's. */
async function serverTimeMs(client: Client): Promise<number> {
  const { metadata } = await client.create<KubeObject>(selfSubjectReviews, { metadata: {} })
  return parseTime(metadata.creationTimestamp ?? '')
}
