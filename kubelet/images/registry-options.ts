import { type Options, type OptionType, option } from '../../shared/config/option.ts'
import { names, oneOf, textMap } from '../../shared/config/option-types.ts'

const mirrorMap: OptionType<Record<string, string>> = {
  ...textMap,
  placeholder: 'REGISTRY=URL',
  fromText: (text, soFar) => checked(textMap.fromText(text, soFar)),
  fromFile: (value) => checked(textMap.fromFile(value)),
}

function checked(mirrors: Record<string, string>): Record<string, string> {
  for (const url of Object.values(mirrors))
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
      throw new Error(`must be a registry and a URL, such as docker.io=https://mirror.example.com; got ${url}`)
  return mirrors
}

/** Defines the options about registries, which kubelet and cluster share. */
export const registryOptions = {
  pullImages: option(oneOf('auto', 'all', 'never'), {
    default: 'auto',
    help: 'Which images are pulled from registries: auto, those that stand for nothing here; all, those that --image does not map and the store lacks; never',
  }),
  registryMirror: option(mirrorMap, {
    default: {},
    help: "URL that is asked before a registry: 'docker.io=https://mirror.example.com'; repeatable",
  }),
  insecureRegistry: option(names, {
    default: [],
    help: 'Registries, with their port, whose certificate is not verified, or that have none; repeatable',
  }),
} satisfies Options
