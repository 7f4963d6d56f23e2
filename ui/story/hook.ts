import type { RecordedObject } from '../../shared/record/format.ts'
import { at, listAt, plain, textAt } from './text.ts'

/** Describes a preStop hook and how it gets the reason, in a few words; empty if the record does not have the pod. */
export function hookOf(pod: RecordedObject | undefined, container: string, reason: string): string {
  const spec = listAt(pod, 'spec', 'containers').find((each) => at(each, 'name') === container)
  const hook = at(spec, 'lifecycle', 'preStop')
  const named = (field: string, otherwise: string): string => textAt(hook, 'reasonDelivery', field) || otherwise
  if (at(hook, 'exec')) return `a command${reason && `, with ${named('env', 'KUBE_POD_TERM_REASON')}=${reason}`}`
  const path = at(hook, 'httpGet', 'path')
  if (path === undefined) return ''
  return `GET ${plain(path)}${reason && `, with ${named('header', 'KUBE-POD-TERM-REASON')}: ${reason}`}`
}
