/** What a pod was asked to do, and what its container wrote down. */
export interface Life {
  name: string
  reason: string
  /** It was deleted whether its container had started or not, with a short grace period. */
  isEarly?: boolean
  lines: readonly string[]
}

/**
 * What must be true of every container when its pod is gone: it ran at most once, its hook had the reason, it had one
 * SIGTERM after the hook, and all the time it needed. `mayRepeatHook`: a kubelet was killed, and the next one does not
 * know whether the hook had run, as upstream. In words, what is not so.
 */
export function checkLife({ name, reason, isEarly = false, lines }: Life, { mayRepeatHook = false } = {}): string[] {
  const count = (wanted: string): number => lines.filter((line) => line === wanted).length
  if (lines.length === 0) return []
  const hooks = lines.filter((line) => line.startsWith('hook'))
  const wrong: string[] = []
  if (count('start') > 1 || (count('start') === 0 && !isEarly))
    wrong.push(`its container started ${count('start')} times`)
  if (hooks.length === 0 && !isEarly) wrong.push('its hook did not run')
  if (hooks.length > (mayRepeatHook ? 2 : 1)) wrong.push(`its hook ran ${hooks.length} times`)
  if (hooks.some((hook) => hook !== `hook ${reason}`)) wrong.push(`its hook was told "${hooks}" instead of "${reason}"`)
  if (count('term') > 1 || (count('term') === 0 && !isEarly)) wrong.push(`it got SIGTERM ${count('term')} times`)
  if (lines.indexOf('term') >= 0 && lines.indexOf('term') < lines.findIndex((line) => line.startsWith('hook')))
    wrong.push('it got SIGTERM before its hook')
  if (count('end') !== 1 && !isEarly) wrong.push('it was killed within its grace period')
  return wrong.map((what) => `pod ${name}: ${what} (${lines.join(', ')})`)
}
