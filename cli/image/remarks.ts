import { patternOf } from '../../kubelet/runtime/images/images.ts'
import { tableLines } from '../terminal/output.ts'
import type { CheckedContainer } from './check.ts'

interface Remark {
  text: string
  /** The text with names in capitals for what is only this container's. */
  common: string
  names: Readonly<Record<string, string>>
}

/**
 * Returns the remarks on containers, each once. Several that differ in an image or a file alone become the sentence
 * that they have in common, and below it a table of what the names in capitals stand for.
 */
export function remarkLines(checked: readonly CheckedContainer[]): string[] {
  const remarks = new Map(checked.flatMap(remarksOf).map((remark) => [remark.text, remark]))
  return [...Map.groupBy(remarks.values(), ({ common }) => common)].flatMap(([common, alike]) => {
    const [first] = alike
    if (!first || alike.length === 1) return [`kubestage: ${first?.text ?? common}`]
    const table = tableLines([Object.keys(first.names), ...alike.map(({ names }) => Object.values(names))])
    return [`kubestage: ${common}`, ...table.map((line) => `  ${line}`)]
  })
}

const remarksOf = ({ image, problem, missing = [] }: CheckedContainer): Remark[] => [
  ...(problem ? [problemOf(image, problem)] : []),
  ...missing.map((file) => {
    const common = 'FILE is not on this machine, nor is a volume mounted there'
    return { text: common.replace('FILE', () => file), common, names: { FILE: file } }
  }),
]

function problemOf(image: string, { reason, message }: NonNullable<CheckedContainer['problem']>): Remark {
  if (reason !== 'ErrImagePull') return { text: message, common: message, names: {} }
  const pattern = patternOf(image)
  const common = message.replaceAll(`"${image}"`, 'IMAGE').replaceAll(pattern, 'PATTERN')
  return { text: message, common, names: { IMAGE: image, PATTERN: pattern } }
}
