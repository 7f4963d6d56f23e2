import { type OptionType, option } from '../shared/config/option.ts'
import { mustBe, oneOf } from '../shared/config/option-types.ts'

/** Begins the choice of a container runtime by its socket: `cri:unix:///run/containerd/containerd.sock`. */
const cri = 'cri:'
const ours = oneOf('process', 'simulated')
const endpointPattern = /^cri:unix:\/\/\/.+$/

export type RuntimeChoice = 'process' | 'simulated' | `cri:unix://${string}`

/** Names what runs the containers of a node. */
const runtimeType: OptionType<RuntimeChoice> = {
  ...ours,
  placeholder: 'process|simulated|cri:unix:///PATH',
  schema: { anyOf: [{ enum: ['process', 'simulated'] }, { type: 'string', pattern: endpointPattern.source }] },
  fromText: choice,
  fromFile: choice,
  show: String,
}

function choice(value: unknown): RuntimeChoice {
  if (typeof value !== 'string' || !value.startsWith(cri)) return ours.fromFile(value)
  if (endpointPattern.test(value)) return value as RuntimeChoice
  throw mustBe('a socket, such as cri:unix:///run/containerd/containerd.sock', value)
}

export const runtimeOption = option(runtimeType, {
  default: 'process',
  help: 'What runs containers: real processes, nothing at all, or containerd or CRI-O by its socket',
})

/** Returns the endpoint of a container runtime, `unix:///path`; undefined for runtimes of our own. */
export const criEndpoint = (runtime: RuntimeChoice): string | undefined =>
  runtime.startsWith(cri) ? runtime.slice(cri.length) : undefined
