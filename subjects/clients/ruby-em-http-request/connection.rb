# What em-http-request lacks of connections: an address of one's own, and an end when TLS is not to be trusted.

class HttpConnectionOptions
  # The address to connect to, instead of the URL's host.
  attr_writer :host
end

# em-http-request raises what is wrong with a certificate into the reactor, where it ends the program, or is heard of by
# no request.
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
