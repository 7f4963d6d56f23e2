import { type OptionType, option } from './option.ts'
import { mustBe, names } from './option-types.ts'

/** `https://host:port`, several with commas between or by repeating the flag. */
const serverUrls: OptionType<string[]> = {
  ...names,
  placeholder: 'URL,…',
  fromText: (value, soFar) => names.fromText(value, soFar).map(checked),
  fromFile: (value) => names.fromFile(value).map(checked),
}

export const serverOption = option(serverUrls, {
  default: [],
  help: 'API servers instead of the one of the kubeconfig, asked in turn when one fails; repeatable',
})

function checked(value: string): string {
  const url = URL.parse(value)
  if (url?.protocol === 'https:' && !url.search && !url.hash) return value.replace(/\/$/, '')
  throw mustBe('the URL of an API server such as https://127.0.0.1:6443', value)
}
