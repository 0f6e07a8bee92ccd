import { frame } from './frame.tsx'

interface Places {
  /** Paths of the panel and of the page that verifies receipts. */
  readonly panel: string
  readonly receipts: string
}

/** The page at `/`: where to go from the address of the service. */
export const homePage = ({ panel, receipts }: Places): string =>
  frame({
    title: 'Tillbook',
    about: 'Retaguarda do ponto de venda: cadastros, vendas, contas, caixas e loja online.',
    menu: null,
    body: (
      <>
        <section>
          <h2>Para a loja</h2>
          <ul>
            <li>
              <a href={panel}>Entrar no painel</a>
            </li>
            <li>
              <a href={receipts}>Conferir um recibo</a>
            </li>
          </ul>
        </section>
        <section>
          <h2>Para integradores</h2>
          <ul>
            <li>
              <a href="/docs">Documentação da API</a>
            </li>
            <li>
              <a href="/docs/guias">Guias</a>
            </li>
            <li>
              <a href="/api/v1/openapi.json">Contrato OpenAPI da API de integração</a>
            </li>
            <li>
              <a href="/api/openapi.json">Contrato OpenAPI dos caixas e das notificações de pagamento</a>
            </li>
            <li>
              <a href="/docs/postman.json">Coleção do Postman</a>
            </li>
          </ul>
        </section>
      </>
    ),
  })
