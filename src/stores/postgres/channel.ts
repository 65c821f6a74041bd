/** Where nodes of one database tell each other of news. */
export const channel = 'reins_log';
