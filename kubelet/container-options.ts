import { option } from '../shared/config/option.ts'
import { bytes, EntryError, flag, names, oneOf, wholeNumber } from '../shared/config/option-types.ts'
import { sysctlNamespace } from './admission/sysctls.ts'
import { helpOf } from './container-limits.ts'

const sysctlPattern = /^(?:[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?[./])*(?:[a-z0-9][-_a-z0-9]*)?[a-z0-9*]$/

/**
 * Defines the options that bound what containers of a node may do and use. Each option has its name in upstream's
 * KubeletConfiguration, if it exists there.
 */
export const containerOptions = {
  allowedUnsafeSysctls: option(
    {
      ...names,
      placeholder: 'PATTERN,…',
      fromText: (value: string, soFar?: string[]) => checkSysctls(names.fromText(value, soFar)),
      fromFile: (value: unknown) => checkSysctls(names.fromFile(value)),
    },
    { default: [], help: "Kernel parameters beside the safe ones that a pod may set: 'kernel.msg*', 'kernel.shmmax'" },
  ),
  containerLayerSize: option(bytes, {
    default: '1Gi',
    help: helpOf('containerLayerSize'),
  }),
  containerLogMaxSize: option(bytes, {
    default: '10Mi',
    help: helpOf('containerLogMaxSize'),
  }),
  containerLogMaxFiles: option(wholeNumber({ min: 2, max: 100, placeholder: 'COUNT' }), {
    default: 5,
    help: helpOf('containerLogMaxFiles'),
  }),
  limits: option(oneOf('auto', 'cgroup', 'none'), {
    default: 'auto',
    help: 'Whether the kernel keeps containers within their limits of memory and CPU; auto: where control groups of version 2 can be made',
  }),
  strict: option(flag, {
    default: false,
    help: 'Refuse containers that ask for users, rights or limits that this machine cannot give; else they run without, and an event says so',
  }),
  podPidsLimit: option(wholeNumber({ min: 0, max: 4_194_304, placeholder: 'COUNT' }), {
    default: 0,
    help: helpOf('podPidsLimit'),
  }),
}

function checkSysctls(patterns: string[]): string[] {
  for (const pattern of patterns) {
    const isNamespaced = sysctlPattern.test(pattern) && sysctlNamespace(pattern) !== undefined
    if (!isNamespaced) throw new EntryError(pattern, `has ${pattern}, which names no sysctls of a namespace`)
  }
  return patterns
}
