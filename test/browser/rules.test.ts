import { expect } from 'chai'
import express from 'express'
import type { Page } from 'playwright-core'
import { pagePolicy } from '#panel/panel-cookies.ts'
import { check } from '../support/browser/accessibility.ts'
import { sharedBrowser } from '../support/browser/chromium.ts'
import { tabThrough } from '../support/browser/keyboard.ts'
import { useApp } from '../support/browser/small-app.ts'
import { watch } from '../support/browser/watch.ts'
import { describeInBrowser, useBrowser } from '../support/browser.ts'

const pageOf = (body: string) => `<!doctype html><html lang="pt-BR"><title>Página</title>${body}</html>`
const main = (body: string, style = '') => pageOf(`<style>${style}</style><main><h1>Página</h1>${body}</main>`)

/** Page served at /page. */
let current = ''
const app = express()
app.get('/page', (_request, response) => void response.send(current))
app.get('/strict', pagePolicy, (_request, response) => void response.send(current))

const failureOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: Error) => error.message,
  )

describeInBrowser('browser checks of pages', () => {
  const origin = useApp(app)
  const browser = useBrowser(origin)

  const show = (html: string, path = '/page'): Promise<Page> => {
    current = html
    return browser.open(path)
  }

  describe('of its requests and errors', () => {
    /** Loads a page completely, and returns the recorded problems. */
    async function problemsOf(html: string, path = '/page'): Promise<readonly string[]> {
      current = html
      const context = await (await sharedBrowser()).newContext({ baseURL: origin() })
      const problems = watch(context, origin())
      const page = await context.newPage()
      await page.goto(path)
      await context.close()
      return problems
    }

    it('accept a page without problems', async () => {
      expect(await problemsOf(main('<p>Texto</p>'))).to.deep.equal([])
    })

    it('find a request to another host, allowed or blocked', async () => {
      const image = main('<img src="http://elsewhere.example/x.png" alt="">')
      expect((await problemsOf(image)).join()).to.include('asks another host, GET http://elsewhere.example/x.png')
      expect((await problemsOf(image, '/strict')).join()).to.include('asks another host')
    })

    it('find violations of the content security policy', async () => {
      const inline = '<p style="color: red">x</p><script>document.title = "y"</script>'
      const problems = (await problemsOf(pageOf(inline), '/strict')).join('\n')
      expect(problems).to.include('Applying inline style violates')
      expect(problems).to.include('Executing inline script violates')
    })

    it('find exceptions, console errors, and missing files', async () => {
      const scripts = '<script>console.error("oops"); queueMicrotask(() => { throw new Error("broken") })</script>'
      const problems = (await problemsOf(main(`${scripts}<script src="/none.js"></script>`))).join('\n')
      expect(problems).to.include('/page: console: oops')
      expect(problems).to.include('/page: uncaught Error: broken')
      expect(problems).to.include('/none.js: 404 (script)')
    })

    it('ignore a page that responds 404', async () => {
      expect(await problemsOf('', '/none')).to.deep.equal([])
    })
  })

  describe('of accessibility', () => {
    it('accept a plain page', async () => {
      await check(await show(main('<label>Nome <input name="nome"></label> <button>Guardar</button>')))
    })

    it('find a field without a label, and text without contrast', async () => {
      const page = await show(main('<input name="nome"><p class="pale">pálido</p>', '.pale { color: #bbb }'))
      const failure = await failureOf(check(page))
      expect(failure).to.include('wide, in light colours').and.include('label (critical)').and.include('input')
      expect(failure).to.include('color-contrast (serious)').and.include('class="pale"')
    })

    it('find missing contrast in dark mode only', async () => {
      const style =
        ':root { color-scheme: light dark } body { background: light-dark(#fff, #111) } p, h1 { color: #333 }'
      expect(await failureOf(check(await show(main('<p>escuro</p>', style))))).to.include('in dark ones')
    })

    it('find elements wider than a phone, except in scrollable containers', async () => {
      const wide = '<div class="wide">larga</div>'
      const style = '.wide { width: 500px } .box { overflow-x: auto }'
      expect(await failureOf(check(await show(main(wide, style))))).to.match(/needs 5\d\d px.* 360: div\.wide "larga"/)
      await check(await show(main(`<div class="box" tabindex="0">${wide}</div>`, style)))
    })
  })

  describe('of the keyboard', () => {
    it('list the tab stops in order, with a radio group as one', async () => {
      const radios = '<label><input type="radio" name="r">um</label><label><input type="radio" name="r">dois</label>'
      const hidden = '<details><summary>Mais</summary><a href="#y">dentro</a></details><button disabled>não</button>'
      const page = await show(main(`<a href="#x">Ir</a>${radios}${hidden}<button>Fim</button>`))
      expect(await tabThrough(page)).to.deep.equal(['a "Ir"', 'input "um"', 'summary "Mais"', 'button "Fim"'])
    })

    it('count a field of several parts as one tab stop', async () => {
      const page = await show(main('<label>Dia <input type="date"></label><button>Fim</button>'))
      expect(await tabThrough(page)).to.deep.equal(['input "Dia"', 'button "Fim"'])
    })

    it('find a focus trap', async () => {
      const trap = `<button>um</button><button>dois</button>
        <script>addEventListener('keydown', (event) => event.target.textContent === 'um' && event.preventDefault())</script>`
      expect(await failureOf(tabThrough(await show(main(trap))))).to.include(
        'no end after 66 presses, the last at button "um"',
      )
    })

    it('find an unreachable element', async () => {
      const skipping = `<button>um</button><button>dois</button><button>três</button>
        <script>addEventListener('keydown', (event) => {
          if (event.target.textContent !== 'um') return
          event.preventDefault()
          document.querySelectorAll('button')[2].focus()
        })</script>`
      expect(await failureOf(tabThrough(await show(main(skipping))))).to.match(
        /keyboard:\n {2}button "dois" is not reached$/,
      )
    })

    it('find a focus that is invisible or outside the viewport', async () => {
      const style = '.bare:focus { outline: none } .away { position: absolute; left: -99rem }'
      const page = await show(main('<button class="bare">um</button><button class="away">dois</button>', style))
      const failure = await failureOf(tabThrough(page))
      expect(failure).to.include('button "um" does not show its focus')
      expect(failure).to.include('button "dois" has the focus out of sight')
    })

    it('stay within an open dialog', async () => {
      const dialog = '<dialog aria-label="Certeza"><button>Sim</button></dialog>'
      const page = await show(
        main(`<a href="#x">Ir</a>${dialog}<script>document.querySelector('dialog').showModal()</script>`),
      )
      expect(await tabThrough(page)).to.deep.equal(['button "Sim"'])
    })
  })
})
