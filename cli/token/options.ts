import { bootstrappersForm, nodeTokenGroup } from '../../shared/api/bootstrap-token.ts'
import { type OptionType, option } from '../../shared/config/option.ts'
import { duration, EntryError, flag, mustBe, names, text } from '../../shared/config/option-types.ts'

const knownUsages = ['signing', 'authentication']
const dayMs = 86_400_000

/** Upstream's `0` has no unit. */
const ttl: OptionType<number> = {
  ...duration,
  fromText: (value) => (value === '0' ? 0 : duration.fromText(value)),
}

/** A list of names that `fits` accepts; `expected` says which. */
const listOf = (fits: (name: string) => boolean, expected: string): OptionType<string[]> => {
  const check = (list: string[]): string[] => {
    const wrong = list.find((name) => !fits(name))
    if (wrong !== undefined) throw new EntryError(wrong, mustBe(expected, wrong).message)
    return list
  }
  return {
    ...names,
    fromText: (value, soFar) => check(names.fromText(value, soFar)),
    fromFile: (value) => check(names.fromFile(value)),
    show: (list) => list.join(','),
  }
}

/**
 * Defines the flags of `token create`; names and defaults are kubeadm's. Upstream:
 * cmd/kubeadm/app/cmd/options/token.go.
 */
export const createOptions = {
  ttl: option(ttl, { default: dayMs, help: 'create: how long the token is valid; 0: for ever' }),
  description: option(text, { default: '', help: 'create: what the token is for' }),
  usages: option(
    listOf((name) => knownUsages.includes(name), `of ${knownUsages.join(', ')}`),
    { default: knownUsages, help: 'create: what the token may do; repeatable' },
  ),
  groups: option(
    listOf((name) => bootstrappersForm.test(name), 'a group such as system:bootstrappers:mine'),
    { default: [nodeTokenGroup], help: 'create: groups of a client with this token; repeatable' },
  ),
  printJoinCommand: option(flag, {
    default: false,
    help: 'create: print the command that makes a machine a node, instead of the token',
  }),
  server: option(
    { ...names, placeholder: 'HOST:PORT,…' },
    {
      default: [],
      help: 'create: API servers in that command (default: the one that cluster-info names, or that of the kubeconfig)',
    },
  ),
}
