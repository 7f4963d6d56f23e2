import { h, type JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { PodStory } from '../story/model.ts'
import type { Story } from '../story/story.ts'

const shownNodes = 100

interface Wish {
  action: 'cordon' | 'uncordon' | 'shutdown' | 'delete'
  name: string
  namespace?: string
  reason?: string
}

/** Returns the sentence with which the server answers. */
async function act(wish: Wish): Promise<string> {
  const options = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(wish) }
  try {
    const answer = await fetch('actions', options)
    return ((await answer.json()) as { message: string }).message
  } catch {
    return 'The server does not answer.'
  }
}

/** Shows the actions on nodes, if the link of the page allows actions. */
export function NodeActions({ story }: { story: Story }): JSX.Element {
  const [said, say] = useState('')
  const button = (label: string, wish: Wish): JSX.Element =>
    h('button', { 'aria-label': `${label} ${wish.name}`, onClick: async () => say(await act(wish)) }, label)
  const nodes = [...story.nodes.values()].filter(({ goneMs }) => goneMs === undefined)
  return h('section', { 'aria-label': 'Actions on nodes' }, [
    h('h2', null, 'Actions'),
    h('p', { role: 'status' }, said),
    ...nodes
      .slice(0, shownNodes)
      .map(({ name }) =>
        h('div', { class: 'bar', key: name }, [
          h('bdi', null, name),
          button('Cordon', { action: 'cordon', name }),
          button('Uncordon', { action: 'uncordon', name }),
          button('Shut down', { action: 'shutdown', name }),
        ]),
      ),
  ])
}

/** Shows a button that deletes the selected pod, for a reason. */
export function PodActions({ pod: { namespace, name } }: { pod: PodStory }): JSX.Element {
  const [said, say] = useState('')
  const [reason, setReason] = useState('')
  const wish: Wish = { action: 'delete', namespace, name, ...(reason && { reason }) }
  const input = { type: 'text', value: reason, placeholder: 'Update', 'aria-label': 'Reason of the deletion' }
  return h('section', { 'aria-label': 'Actions on the pod' }, [
    h('div', { class: 'bar' }, [
      h('input', { ...input, onInput: ({ currentTarget }) => setReason(currentTarget.value) }),
      h('button', { onClick: async () => say(await act(wish)) }, ['Delete ', h('bdi', null, name)]),
    ]),
    h('p', { role: 'status' }, said),
  ])
}
