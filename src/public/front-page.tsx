import express, { type RequestHandler, type Router } from 'express'
import { renderToString } from 'preact-render-to-string'
import { createFixedAnswer } from '#http/answers.ts'
import { assetsBelow, BASE_STYLE, FONT, FONT_STYLE, projectFile } from '#http/assets.ts'
import { limitUnauthenticatedBy, publicDocument } from '#http/edge.ts'
import type { Services } from '#services.ts'

/** Below it stand the files of the page at `/`. */
export const FRONT_FILES = '/sobre'

const fileOf = (name: string): string => projectFile(`src/public/front/static/${name}`)

const assets = assetsBelow(FRONT_FILES, {
  'inter.woff2': FONT,
  'font.css': FONT_STYLE,
  'base.css': BASE_STYLE,
  'front.css': { file: fileOf('front.css'), type: 'text/css; charset=utf-8' },
  'inicio.webp': { file: fileOf('inicio.webp'), type: 'image/webp' },
  'caixa.webp': { file: fileOf('caixa.webp'), type: 'image/webp' },
  'vendas.webp': { file: fileOf('vendas.webp'), type: 'image/webp' },
})

const POLICY =
  "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Paths of what the page leads to. */
interface Places {
  readonly panel: string
  readonly till: string
  readonly receipts: string
  /** Whether the installation has shops to try. */
  readonly hasDemo: boolean
}

const TITLE = 'Tillbook: o caixa, o estoque e as contas da sua loja'
const ABOUT =
  'Venda no balcão e por link, saiba o que acaba, o que entra e o que vence. Funciona no celular, e o caixa vende até sem internet.'

const Opening = ({ panel, till, hasDemo }: Places) => (
  <section class="opening">
    <h1>O caixa, o estoque e as contas da sua loja, num lugar só</h1>
    <p>{ABOUT}</p>
    <div class="go">
      <a class="main" href={panel}>
        Entrar no painel
      </a>
      <a href={till}>Abrir o caixa</a>
      {hasDemo && <a href="#demonstracao">Experimentar</a>}
    </div>
    <img
      src={assets.address('inicio.webp')}
      width="1280"
      height="800"
      alt="Início do painel: vendas do dia comparadas, o que precisa de você e contas em aberto"
    />
  </section>
)

const Parts = () => (
  <>
    <section>
      <div>
        <h2>No balcão</h2>
        <p>Busque, leia o código de barras, receba e entregue o comprovante. A fila não para quando a internet cai.</p>
        <ul>
          <li>Dinheiro com troco, Pix com QR Code, cartão, crediário e vale de troca</li>
          <li>Trocas, devoluções e cancelamentos no próprio caixa</li>
          <li>Gaveta com abertura, sangria e contagem às cegas</li>
        </ul>
      </div>
      <img
        loading="lazy"
        src={assets.address('caixa.webp')}
        width="768"
        height="480"
        alt="Caixa com a busca de produtos, a venda em andamento e o total"
      />
    </section>
    <section>
      <img
        class="phone"
        loading="lazy"
        src={assets.address('vendas.webp')}
        width="216"
        height="444"
        alt="Lista de vendas no celular"
      />
      <div>
        <h2>No bolso do dono</h2>
        <p>Abra o painel no celular e veja o que precisa de você: o que venceu, o que acabou, o que falta entregar.</p>
        <ul>
          <li>Pedidos e links de pagamento com Mercado Pago, enviados pelo WhatsApp</li>
          <li>Contas a pagar e a receber, caderneta e lembretes</li>
          <li>Preços, etiquetas, compras, inventário e importação de planilhas</li>
          <li>Cada pessoa vê só o que o seu perfil permite</li>
        </ul>
      </div>
    </section>
    <section>
      <div>
        <h2>Números que se provam</h2>
        <p>
          Cada venda, preço e recebimento entra num registro que ninguém reescreve, nem nós. Qualquer total leva ao que
          o formou, e o cliente confere o próprio recibo.
        </p>
      </div>
    </section>
  </>
)

const Demo = ({ panel }: Places) => (
  <section id="demonstracao">
    <div>
      <h2>Experimente</h2>
      <p>
        Esta instalação tem lojas de demonstração, com um mês de vendas. E-mails e senhas estão no arquivo{' '}
        <code>demo.json</code>, na pasta de dados do serviço. Depois, <a href={panel}>entre no painel</a>.
      </p>
    </div>
  </section>
)

const FrontPage = (places: Places) => (
  <html lang="pt-BR">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="description" content={ABOUT} />
      <title>{TITLE}</title>
      <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
      {(['font.css', 'base.css', 'front.css'] as const).map((name) => (
        <link key={name} rel="stylesheet" href={assets.address(name)} />
      ))}
    </head>
    <body>
      <nav aria-label="Entrada">
        <strong>Tillbook</strong>
        <a href={places.panel}>Entrar</a>
      </nav>
      <main>
        <Opening {...places} />
        <Parts />
        {places.hasDemo && <Demo {...places} />}
      </main>
      <footer>
        <a href={places.receipts}>Conferir um recibo</a> · <a href="/docs">Documentação da API</a> ·{' '}
        <a href="/docs/guias">Guias</a> · <a href="/api/v1/openapi.json">Contrato da API</a> ·{' '}
        <a href="/api/openapi.json">Contrato dos caixas</a>
      </footer>
    </body>
  </html>
)

type FrontServices = Pick<Services, 'limits' | 'traffic' | 'environment'>

/** The page at `/`, for a person who has only the address. */
export function serveFrontPage(
  { limits, traffic, environment }: FrontServices,
  places: Omit<Places, 'hasDemo'>,
): RequestHandler {
  const { hasDemo } = environment
  const make = () => `<!doctype html>\n${renderToString(<FrontPage {...places} hasDemo={hasDemo} />)}\n`
  const send = createFixedAnswer(make, traffic.compress, 'text/html; charset=utf-8')
  const document = publicDocument(limitUnauthenticatedBy(limits.addresses), (_request, response) => {
    response.setHeader('Vary', 'Accept-Encoding')
    // Browsers revalidate with the ETag.
    response.setHeader('Cache-Control', 'no-cache')
    return send(response)
  })
  return (request, response, next) => {
    response.setHeader('Content-Security-Policy', POLICY)
    return document(request, response, next)
  }
}

export const serveFrontFiles = (): Router => express.Router().use(assets.serve())
