import { h, type JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { PodStory } from '../story/model.ts'
import { listAt, plain, textAt } from '../story/text.ts'

/** Bounds the log: the server sends the last lines. */
const maxText = 65_536

const retryMs = 1_000

/** Resolves to undefined if the server does not answer. */
async function lastLines({ namespace, name }: PodStory, container: string): Promise<string | undefined> {
  const query = new URLSearchParams({ namespace, pod: name, container })
  try {
    const answer = await fetch(`log?${query}`, { credentials: 'same-origin', cache: 'no-store' })
    if (answer.ok) return plain(await answer.text(), maxText) || 'It has written nothing.'
    return ((await answer.json()) as { message: string }).message
  } catch {}
}

/** Shows the last lines that a container of the pod has written. Only a cluster has them: a record has no logs. */
export function PodLog({ pod }: { pod: PodStory }): JSX.Element {
  const containers = listAt(pod.object, 'spec', 'containers').map((container) => textAt(container, 'name'))
  const [chosen, choose] = useState('')
  const [text, setText] = useState('')
  const [count, setCount] = useState(0)
  const container = containers.includes(chosen) ? chosen : (containers[0] ?? '')
  const isGone = pod.goneMs !== undefined
  const phase = pod.phases.at(-1)?.value
  useEffect(() => {
    if (isGone) return
    let isOver = false
    const read = async (): Promise<void> => {
      if (isOver) return
      const lines = await lastLines(pod, container)
      if (isOver) return
      setText(lines ?? 'The server does not answer; trying again …')
      if (lines === undefined) setTimeout(read, retryMs)
    }
    void read()
    return () => {
      isOver = true
    }
  }, [pod.uid, container, pod.restarts, phase, count, isGone])
  const onChange = (event: Event): void => choose((event.currentTarget as HTMLSelectElement).value)
  const options = containers.map((name) => h('option', { key: name, value: name }, name))
  return h('section', { 'aria-label': 'Log' }, [
    h('h3', null, 'Last log lines'),
    isGone && !text
      ? h('p', null, 'The pod is gone, and its log with it.')
      : h('pre', { tabIndex: 0, role: 'region', 'aria-label': 'Last log lines' }, text || '…'),
    isGone
      ? null
      : h('div', { class: 'bar' }, [
          containers.length > 1 && h('select', { 'aria-label': 'Container', value: container, onChange }, options),
          h('button', { onClick: () => setCount(count + 1) }, 'Read again'),
        ]),
  ])
}
