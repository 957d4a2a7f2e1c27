# Two features that connections of em-http-request lack: a given address, and an end on untrusted TLS.

class HttpConnectionOptions
  # The address to connect to, instead of the URL's host.
  attr_writer :host
end

# em-http-request raises errors of a certificate into the reactor, where they end the program, or reach no request.
module VerifiedTLS
  def ssl_verify_peer(certificate)
    super
  rescue OpenSSL::SSL::SSLError
    distrust("CertificateVerifyFailed")
    false
  end

  def ssl_handshake_completed
    super
  rescue OpenSSL::SSL::SSLError
    distrust("HostnameMismatch")
  end

  # The name that the certificate is for.
  def host
    parent.connopts.tls[:sni_hostname]
  end

  private

  def distrust(reason)
    parent.unbind(reason)
    close_connection
  end
end

EventMachine::HttpStubConnection.prepend(VerifiedTLS)
