import type { OptionType } from './option.ts'
import { mustBe, names } from './option-types.ts'

/** `https://host:port`, several with commas between or by repeating the flag. */
export const serverUrls: OptionType<string[]> = {
  ...names,
  placeholder: 'URL,…',
  fromText: (value, soFar) => names.fromText(value, soFar).map(checked),
  fromFile: (value) => names.fromFile(value).map(checked),
}

function checked(value: string): string {
  const url = URL.parse(value)
  if (url?.protocol === 'https:' && !url.search && !url.hash) return value.replace(/\/$/, '')
  throw mustBe('the URL of an API server such as https://127.0.0.1:6443', value)
}
