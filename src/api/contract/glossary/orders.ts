/** The online store: its orders, their payments, and what the provider tells. */
export const ORDERS = {
  // Orders
  store_alias: 'A loja, pelo nome que ela tem nos endereços.',
  'Order.status': '`pending`, `paid`, `failed`, `cancelled` ou `refunded`: segue os pagamentos do pedido.',
  'Order.customer': 'Quem comprou, como foi informado.',
  'OrderInput.customer': 'Quem compra.',
  'Order.payments': 'Todos os pagamentos e tentativas, na ordem em que foram conhecidos.',
  'Order.payment':
    'O pagamento que pagou o pedido ou foi devolvido; senão, o último. `null` antes da primeira tentativa.',
  'OrderItem.description': 'Nome do item no catálogo na hora do pedido, ou a descrição do item avulso.',
  'OrderItem.total': 'Quantidade × preço unitário, arredondado ao centavo.',
  'OrderInput.items':
    'Os itens, cada um com um só entre `catalog_item_id`, `catalog_item_external_id` e `description`.',
  'OrderInput.items.description': 'Item avulso, fora do catálogo: exige `unit_price`.',
  'OrderInput.items.unit_price': 'Preço unitário; o preço de lista, se ausente.',
  provider_reference: 'A referência do pedido no provedor (`external_reference`), única entre todos os sistemas.',
  payer_email: 'E-mail de quem paga, exigido pelo provedor.',
  token: 'Token do cartão, feito pelo formulário do provedor; ausente em meios que não o usam, como `pix`.',
  payment_method_id: 'Meio de pagamento, no nome do provedor, como `pix` ou `visa`.',
  attempt_id: 'A tentativa que fez o pagamento; `null` se nenhuma é conhecida.',
  provider_payment_id: 'O pagamento, no provedor; `null` enquanto ele não o confirma.',
  provider_status: 'Situação, nas palavras do provedor.',
  status_detail: 'Detalhe da situação, nas palavras do provedor.',
  'OrderPayment.status': 'Situação, nas palavras do pedido.',
  'OrderPayment.amount': 'Valor cobrado: o total do pedido.',
  commission_percentage: 'Percentual da comissão em vigor para a tentativa.',
  live_mode: '`true` em produção, `false` em testes.',
  refusal: 'Por que o provedor não fez o pagamento desta tentativa; `null` se fez, ou ainda não se sabe.',
  started_at: 'Quando começou.',
  commission: 'Como o valor pago se divide; `null` enquanto não foi pago.',
  percentage: 'Percentual do serviço.',
  'Commission.amount': 'Parte do serviço, arredondada ao centavo.',
  store_amount: 'Parte da loja: o resto.',
  reversed_at: 'Quando foi desfeita, com a devolução do pagamento.',
  alarms: 'Dinheiro que o pedido não pedia, e que alguém deve olhar.',
  'OrderAlarm.code':
    '`second_payment`: mais um pagamento aprovado; `paid_after_refund`: um pagamento aprovado depois da devolução.',
  raised_at: 'Quando foi notado.',
  released_at: 'Quando o pedido foi pago e, portanto, liberado.',
  refunded_at: 'Quando o pedido foi devolvido.',
  causes: 'Os motivos do provedor.',
  'causes.code': 'Código do motivo, do provedor.',
  'causes.description': 'O motivo, nas palavras do provedor.',

  // Notifications of the payment provider
  received_at: 'Quando chegou.',
  payload: 'O corpo como foi recebido; um texto se não era JSON; `null` se não foi lido.',
  'Notification.response': 'A resposta dada; `null` enquanto não foi dada.',
  http_status: 'Status HTTP da resposta.',
  'Notification.outcome':
    'O que resultou: `applied` (o pagamento mudou), `duplicate` (já estava assim), `stale` (atrasada), `ignored` (não diz respeito), `refused` (inválida) ou `failed` (virá de novo).',
}
