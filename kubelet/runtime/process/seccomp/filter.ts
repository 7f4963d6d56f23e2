import { callNumbers } from './call-numbers.ts'
import type { SeccompCondition, SeccompProfile, SeccompRule } from './profile.ts'

/** The kernel's names of architectures, of which a call says by which of them it comes. */
const architectures: Partial<Record<NodeJS.Architecture, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 }

/** True where filters can be made. */
export const knowsCalls = (architecture: NodeJS.Architecture = process.arch): boolean =>
  process.platform === 'linux' && architectures[architecture] !== undefined

/** An instruction of BPF: its code, the jumps if its condition holds and if not, and its operand. */
type Instruction = [code: number, ifTrue: number, ifFalse: number, number: number]

const load = (offset: number): Instruction => [0x20, 0, 0, offset]
const end = (value: number): Instruction => [0x06, 0, 0, value]
const and = (mask: number): Instruction => [0x54, 0, 0, mask]
const [equal, greater, atLeast] = [0x15, 0x25, 0x35]

/** Fields of struct seccomp_data. */
const [callField, architectureField, firstArgument] = [0, 4, 16]
/** Calls of the x32 kind have this bit. */
const x32 = 0x40000000
const notPermitted = 1
const most = 4096

/**
 * Returns a profile as a program for the kernel (struct sock_filter), which it runs for each system call. Calls of
 * other architectures than the machine's own are refused. Throws an Error about what the profile says that cannot be
 * done.
 */
export function filterOf(profile: SeccompProfile, architecture: NodeJS.Architecture = process.arch): Buffer {
  const numbers = callNumbers(architecture)
  const refused = end(actionOf('SCMP_ACT_ERRNO', notPermitted))
  const program: Instruction[] = [
    load(architectureField),
    [equal, 1, 0, architectures[architecture] ?? 0],
    refused,
    load(callField),
    ...(architecture === 'x64' ? [[atLeast, 0, 1, x32] satisfies Instruction, refused] : []),
    ...(profile.syscalls ?? []).flatMap((rule) => rulePart(rule, numbers)),
    end(actionOf(profile.defaultAction, profile.defaultErrnoRet)),
  ]
  if (program.length > most)
    throw new Error(`it makes a filter of ${program.length} steps; at most ${most} are possible`)
  const bytes = Buffer.alloc(8 * program.length)
  for (const [index, [code, ifTrue, ifFalse, number]] of program.entries()) {
    bytes.writeUInt16LE(code, 8 * index)
    bytes.writeUInt8(ifTrue, 8 * index + 2)
    bytes.writeUInt8(ifFalse, 8 * index + 3)
    bytes.writeUInt32LE(number, 8 * index + 4)
  }
  return bytes
}

/** Names that the processor does not have are left out, as runtimes do. */
function rulePart({ names, action, errnoRet, args = [] }: SeccompRule, numbers: ReadonlyMap<string, number>) {
  const result = end(actionOf(action, errnoRet))
  return names.flatMap((name): Instruction[] => {
    const number = numbers.get(name)
    if (number === undefined) return []
    if (args.length === 0) return [[equal, 0, 1, number], result]
    const checks = conditions(args)
    // What follows looks at the call's number again.
    return [[equal, 0, checks.length + 1, number], ...checks, result, load(callField)]
  })
}

/** Falls through where all conditions hold; else jumps behind the result that follows. */
function conditions(args: readonly SeccompCondition[]): Instruction[] {
  const parts = args.map(condition)
  const total = parts.reduce((sum, part) => sum + part.length, 0)
  let before = 0
  return parts.flatMap((part) => {
    const toEnd = total - before
    before += part.length
    return part.map(([code, ifTrue, ifFalse, number], index): Instruction => {
      const target = (jump: Jump): number =>
        jump === 'fails' ? toEnd - index : jump === 'holds' ? part.length - index - 1 : 0
      return [code, target(ifTrue), target(ifFalse), number]
    })
  })
}

type Jump = 'next' | 'holds' | 'fails'
type Check = [code: number, ifTrue: Jump, ifFalse: Jump, number: number]

const next = ([code, , , number]: Instruction): Check => [code, 'next', 'next', number]

/** Arguments have 64 bits, and a step looks at 32: the upper half first. */
function condition({ index, value, valueTwo = 0, op }: SeccompCondition): Check[] {
  const low = firstArgument + 8 * index
  const [upperField, lowerField] = [next(load(low + 4)), next(load(low))]
  const [upper, lower] = halves(op === 'SCMP_CMP_MASKED_EQ' ? valueTwo : value)
  const compare = (lowerCode: number, isMore: boolean): Check[] => {
    const [more, less]: Jump[] = isMore ? ['holds', 'fails'] : ['fails', 'holds']
    const [if_, ifNot]: Jump[] = isMore ? ['next', 'fails'] : ['fails', 'next']
    return [
      upperField as Check,
      [greater, more as Jump, 'next', upper],
      [equal, 'next', less as Jump, upper],
      lowerField as Check,
      [lowerCode, if_ as Jump, ifNot as Jump, lower],
    ]
  }
  switch (op) {
    case 'SCMP_CMP_EQ':
      return [upperField, [equal, 'next', 'fails', upper], lowerField, [equal, 'next', 'fails', lower]]
    case 'SCMP_CMP_NE':
      return [upperField, [equal, 'next', 'holds', upper], lowerField, [equal, 'fails', 'next', lower]]
    case 'SCMP_CMP_MASKED_EQ': {
      const [upperMask, lowerMask] = halves(value)
      const masked = (field: Check, mask: number, wanted: number): Check[] => [
        field,
        next(and(mask)),
        [equal, 'next', 'fails', wanted],
      ]
      return [...masked(upperField, upperMask, upper), ...masked(lowerField, lowerMask, lower)]
    }
    case 'SCMP_CMP_GT':
      return compare(greater, true)
    case 'SCMP_CMP_GE':
      return compare(atLeast, true)
    case 'SCMP_CMP_LE':
      return compare(greater, false)
    case 'SCMP_CMP_LT':
      return compare(atLeast, false)
    default:
      throw new Error(`it compares by ${op}, which is not known`)
  }
}

const halves = (value: number): [upper: number, lower: number] => {
  const bits = BigInt.asUintN(64, BigInt(value))
  return [Number(bits >> 32n), Number(bits & 0xffffffffn)]
}

const actions: Readonly<Record<string, number>> = {
  SCMP_ACT_ALLOW: 0x7fff0000,
  SCMP_ACT_LOG: 0x7ffc0000,
  SCMP_ACT_TRACE: 0x7ff00000,
  SCMP_ACT_ERRNO: 0x00050000,
  SCMP_ACT_TRAP: 0x00030000,
  SCMP_ACT_KILL: 0,
  SCMP_ACT_KILL_THREAD: 0,
  SCMP_ACT_KILL_PROCESS: 0x80000000,
}

function actionOf(name: string, errno = notPermitted): number {
  const action = actions[name]
  if (action === undefined) throw new Error(`it asks for ${name}, which is not known`)
  return name === 'SCMP_ACT_ERRNO' || name === 'SCMP_ACT_TRACE' ? action + (errno & 0xffff) : action
}
