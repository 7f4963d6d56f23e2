import t from 'tap'
import { splitWords } from '../../shared/config/words.ts'

t.test('words as a shell has them', async (t) => {
  const texts: [text: string, words: string[]][] = [
    ['', []],
    ['  a  b\tc ', ['a', 'b', 'c']],
    [`nginx -g 'daemon off;'`, ['nginx', '-g', 'daemon off;']],
    [`nginx -g "daemon off;"`, ['nginx', '-g', 'daemon off;']],
    [`nginx -g daemon\\ off;`, ['nginx', '-g', 'daemon off;']],
    [`a'b c'"d e"f`, ['ab cd ef']],
    [`'' ""`, ['', '']],
    [`'a\\b' "a\\"b\\\\c\\n"`, ['a\\b', 'a"b\\c\\n']],
    ['a\\', ['a\\']],
  ]
  for (const [text, words] of texts) t.same(splitWords(text), words, text)
  t.throws(() => splitWords(`sh -c 'a`), { message: /must be a command with closed quotes/ })
})
