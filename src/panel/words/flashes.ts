/** Said on the page after something was done. The address carries the code only, so that nobody can put words there. */
export const FLASHES = {
  criado: 'Cadastro criado.',
  alterado: 'Alterações salvas.',
  'sem-alteracao': 'Nada foi alterado.',
  excluido: 'Cadastro excluído.',
  'item-desativado': 'Item desativado.',
  estoque: 'Estoque alterado.',
  liquidada: 'Conta liquidada.',
  liquidadas: 'Contas liquidadas.',
  cancelada: 'Venda cancelada.',
  'pedido-cancelado': 'Pedido cancelado.',
  'pedido-entregue': 'Pedido marcado como entregue.',
  'alarme-visto': 'Alarme marcado como visto.',
  devolvido: 'Devolução feita no provedor.',
  'devolucao-pendente':
    'O provedor não respondeu. A devolução está anotada e será pedida a ele de novo, uma só vez feita: não é preciso repeti-la.',
  resolvida: 'Venda recusada marcada como resolvida.',
  registrada: 'Venda do caixa registrada.',
  'ja-resolvida': 'Esta venda já estava resolvida.',
  'documento-fiscal': 'Documento fiscal registrado.',
  revogada: 'Chave revogada.',
  ligado: 'Webhook ligado.',
  desligado: 'Webhook desligado.',
  'webhook-passado': 'O webhook mudou de dono.',
  enviada: 'A entrega foi posta na fila. Recarregue a página para ver o resultado.',
  reenvio: 'O reenvio começou. Recarregue a página para ver até onde chegou.',
  'senha-trocada': 'Senha trocada.',
  convidado: 'Convite enviado.',
  'convite-nao-enviado': 'O convite foi criado, mas o e-mail não pôde ser enviado: envie-o de novo mais tarde.',
  'convite-cancelado': 'Convite cancelado.',
  'convite-aceito': 'Convite aceito. Entre com o seu e-mail e a sua senha.',
  'link-enviado': 'Se alguém usa o Tillbook com este e-mail, enviamos um endereço para escolher outra senha.',
  desativado: 'Usuário desativado.',
  reativado: 'Usuário reativado.',
  esquecida: 'Dados pessoais esquecidos.',
  'esquecimento-marcado': 'O que podia ser esquecido já foi; o resto, no dia marcado.',
  'loja-ligada': 'Loja ligada.',
  'loja-desligada': 'Loja desligada.',
  saiu: 'Você saiu do painel.',
  entre: 'Entre para continuar.',
  'entre-e-continue': 'Sua sessão terminou. Entre: o que você digitou volta ao formulário, menos as senhas.',
  'de-volta': 'Sua sessão tinha terminado, e nada foi gravado. Confira o que você tinha digitado e envie de novo.',
} as const

export type FlashCode = keyof typeof FLASHES

export const flashOf = (code: string | undefined): FlashCode | null =>
  code !== undefined && Object.hasOwn(FLASHES, code) ? (code as FlashCode) : null
