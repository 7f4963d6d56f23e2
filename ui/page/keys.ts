import { h, type JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** Keys that work wherever the focus is, except in text fields. */
export function useKeys(keys: Readonly<Record<string, () => void>>): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const { key, target, ctrlKey, metaKey, altKey } = event
      const act = Object.hasOwn(keys, key) ? keys[key] : undefined
      // A dialog has keys of its own.
      if (!act || ctrlKey || metaKey || altKey || document.querySelector('dialog[open]')) return
      const isText = target instanceof HTMLInputElement || target instanceof HTMLSelectElement
      if (isText && key !== 'Escape') return
      event.preventDefault()
      act()
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  })
}

const help: readonly (readonly [string, string])[] = [
  ['/', 'search'],
  ['n, p', 'next, previous event'],
  ['← →, drag', 'move in time'],
  ['+ −, Ctrl and wheel', 'zoom'],
  ['0, Home, End', 'all, the beginning, the end'],
  ['f', 'follow the present'],
  ['Esc', 'close the pod at the side'],
  ['?', 'these keys'],
]

/** Shows the keys of the page in a dialog, which `Esc` closes. */
export function Help({ isOpen, close }: { isOpen: boolean; close(): void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    if (isOpen) dialog.current?.showModal()
    else dialog.current?.close()
  }, [isOpen])
  return h('dialog', { ref: dialog, onClose: close, 'aria-label': 'Keys' }, [
    h('h2', null, 'Keys'),
    h(
      'table',
      null,
      h(
        'tbody',
        null,
        help.map(([keys, text]) =>
          h('tr', null, [h('th', { scope: 'row' }, h('kbd', null, keys)), h('td', null, text)]),
        ),
      ),
    ),
    h('button', { onClick: close }, 'Close'),
  ])
}
