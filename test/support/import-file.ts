import { hiddenFields, type PanelUser, textIn } from './panel.ts'

interface Uploader {
  readonly api: { readonly url: string }
  readonly user: PanelUser
}

/** Text of a page, with plain blanks. */
export const plainText = (html: string): string => textIn(html).replace(/\s+/g, ' ')

/** Sends a file to `/catalogo/importar` and the like. */
export async function uploadFile({ api, user }: Uploader, path: string, content: string | Buffer) {
  const { _csrf = '', _key = '' } = hiddenFields((await user.get(`/painel${path}`)).html, `/painel${path}`)
  const form = new FormData()
  form.set('_csrf', _csrf)
  form.set('_key', _key)
  form.set('file', new Blob([content as string]), 'planilha.csv')
  const init = { method: 'POST', headers: { cookie: user.cookie() }, body: form, redirect: 'manual' } as const
  const response = await fetch(`${api.url}/painel${path}`, init)
  return { status: response.status, to: response.headers.get('location'), html: await response.text() }
}

/** Texts of the page that shows what an import would do, and of the one that shows what it did. */
export async function importFile(uploader: Uploader, path: string, content: string | Buffer, query = '', ticked = {}) {
  const { status, html } = await uploadFile(uploader, path, content)
  if (status !== 303) throw new Error(`${status}: ${plainText(html)}`)
  const page = `/painel${path}/conferir`
  const check = await uploader.user.get(page + query)
  const isPossible = check.html.includes(`action="${page}" class="form wide"><input type="hidden" name="_csrf"`)
  const done = isPossible ? await uploader.user.submit(page + query, ticked, page) : check
  return { check: plainText(check.html), checkHtml: check.html, done: plainText(done.html) }
}
