//! What the agent of one add-on on one cluster may ask the hub for: derived from the content of its template and from
//! nothing else.
//!
//! Decides which certificates there are, and for which subject. The only way to one is a template's content with the names of
//! an add-on and of a cluster: no status, and no object that a cluster can write, is ever a part of it. Whatever else is known
//! can only remove.

use model::{OwnSigner, ReservedSigners, check_certificate_name};
use store::{
    AgentIdentity, CertificateSubject, KUBE_CLIENT_SIGNER, Name, Permission, Registration, Settings,
    Template, agent_groups, agent_user, agent_user_prefix,
};

/// What an agent is entitled to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entitled<'v> {
    addon: &'v Name,
    cluster: &'v Name,
    template: &'v Template,
    /// What another template must ask for as well.
    and: Option<&'v Template>,
    certificates: Certificates,
    /// The signers that only certain add-ons may have, if the template is for another add-on.
    reserved: Option<&'v ReservedSigners>,
}

/// Which certificates are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Certificates {
    All,
    OfTheHub,
    OfOwnSigners,
}

/// One certificate that an agent may have.
#[derive(Debug, Clone, Copy)]
pub(super) enum Certificate<'v> {
    /// That of a client of the hub.
    OfTheHub,
    /// That of a signer of the add-on's own.
    OfOwnSigner {
        /// The signer.
        signer: &'v Name,
        /// The subject, as the template states it; absent when it is the agent's own name.
        subject: Option<&'v CertificateSubject>,
        /// Namespace of the secret that signs, "" when the controllers' own counts.
        ca_namespace: &'v Name,
        /// Name of the secret that signs.
        ca_name: &'v Name,
    },
}

/// Who a certificate says its bearer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bearer {
    pub(super) user: String,
    pub(super) groups: Vec<String>,
    pub(super) units: Vec<String>,
}

impl<'v> Entitled<'v> {
    /// Returns what a template's content gives to the agent of an add-on on a cluster; nothing if it is for another add-on that does not
    /// share it.
    pub(super) fn of(
        template: &'v Template,
        addon: &'v Name,
        cluster: &'v Name,
        settings: &'v Settings,
    ) -> Option<Self> {
        let is_own = template.addon == *addon;
        settings
            .template_sharing
            .permits(template, addon)
            .then_some(Self {
                addon,
                cluster,
                template,
                and: None,
                certificates: Certificates::All,
                reserved: (!is_own).then_some(&settings.reserved_signers),
            })
    }

    /// Returns whether the add-on may have a certificate. The template was checked for the add-on in its `spec.addonName`; signers and names
    /// that are reserved for that one are not for others.
    fn is_for_addon(&self, certificate: &Certificate<'v>) -> bool {
        let (Some(reserved), Certificate::OfOwnSigner { signer, subject, .. }) = (self.reserved, certificate)
        else {
            return true;
        };
        let names = subject.iter().flat_map(|subject| {
            let lists = subject.groups.iter().chain(&subject.units);
            lists.chain([&subject.user])
        });
        OwnSigner::parse(signer, self.addon, reserved).is_ok()
            && names
                .into_iter()
                .all(|name| check_certificate_name(name, self.addon).is_ok())
    }

    /// Leaves the certificates that another template asks for as well.
    pub(super) fn and(self, other: &'v Template) -> Self {
        Self {
            and: Some(other),
            ..self
        }
    }

    /// Leaves the certificate for the hub: its subject is the same, whatever a template says.
    pub(super) fn of_the_hub(self) -> Self {
        let certificates = Certificates::OfTheHub;
        Self { certificates, ..self }
    }

    /// Leaves the certificates of the add-on's own signers: the agent shows tokens to the hub.
    pub(super) fn of_own_signers(self) -> Self {
        let certificates = Certificates::OfOwnSigners;
        Self { certificates, ..self }
    }

    /// Returns the add-on.
    pub(super) fn addon(&self) -> &'v Name {
        self.addon
    }

    /// Returns the cluster.
    pub(super) fn cluster(&self) -> &'v Name {
        self.cluster
    }

    /// Returns whether the agent is a client of the hub.
    pub(super) fn is_client(&self) -> bool {
        let is_client = |template: &Template| template.registrations.iter().any(is_client);
        is_client(self.template) && self.and.is_none_or(is_client)
    }

    /// Returns whether the template asks for nothing.
    pub(super) fn is_nothing(&self) -> bool {
        self.template.registrations.is_empty()
    }

    /// Returns the permissions on the hub, in order, and what cannot be carried out.
    pub(super) fn permissions(&self) -> impl Iterator<Item = Result<&'v Permission, &'v Name>> + use<'v> {
        self.template.registrations.iter().flat_map(|one| {
            let (permissions, fault) = match one {
                Registration::KubeClient(permissions) => (permissions.as_slice(), None),
                Registration::CustomSigner { .. } => ([].as_slice(), None),
                Registration::Faulty(why) => ([].as_slice(), Some(why)),
            };
            permissions.iter().map(Ok).chain(fault.map(Err))
        })
    }

    /// Returns the certificates of a signer.
    pub(super) fn certificates(&self, signer: &str) -> impl Iterator<Item = Certificate<'v>> {
        let Self {
            and, certificates, ..
        } = *self;
        let is_left = move |one: &Certificate<'v>| match (one, certificates) {
            (Certificate::OfTheHub, Certificates::OfTheHub)
            | (Certificate::OfOwnSigner { .. }, Certificates::OfOwnSigners)
            | (_, Certificates::All) => true,
            (Certificate::OfTheHub, Certificates::OfOwnSigners)
            | (Certificate::OfOwnSigner { .. }, Certificates::OfTheHub) => false,
        };
        let asks_too = move |one: &&Registration| {
            and.is_none_or(|other| other.registrations.iter().any(|same| is_same(one, same)))
        };
        let each = self.template.registrations.iter().filter(asks_too);
        let this = *self;
        each.filter_map(certificate)
            .filter(is_left)
            .filter(move |one| this.is_for_addon(one))
            .filter(move |one| one.signer() == signer)
    }

    /// Returns why there is no certificate of a signer.
    pub(super) fn lack(&self, signer: &str) -> &'static str {
        let names_it = |one: Certificate<'_>| one.signer() == signer;
        let mut named = self.template.registrations.iter().filter_map(certificate);
        match self.certificates {
            _ if !named.any(names_it) => "no registration in the add-on's template has this signer",
            Certificates::OfOwnSigners => "the agent registers with tokens",
            Certificates::OfTheHub => "the content that is assigned to the cluster is no longer known",
            Certificates::All => "the template that is assigned to the cluster does not have this signer",
        }
    }

    /// Returns who the bearer of a certificate is. What a template leaves open is the agent's own name, with the name of the
    /// cluster's agent that asks.
    pub(super) fn bearer(&self, certificate: Certificate<'v>, agent: &str) -> Bearer {
        let (user, groups, units) = match certificate {
            Certificate::OfTheHub => {
                let groups = agent_groups(self.cluster, self.addon).into();
                (agent_user(self.cluster, self.addon), groups, Vec::new())
            }
            Certificate::OfOwnSigner { subject, .. } => {
                let user = subject.map(|subject| subject.user.to_string());
                let user = user.filter(|user| !user.is_empty());
                let texts = |names: &[Name]| names.iter().map(ToString::to_string).collect();
                (
                    user.unwrap_or_else(|| self.own_name(agent)),
                    subject.map(|subject| texts(&subject.groups)).unwrap_or_default(),
                    subject.map(|subject| texts(&subject.units)).unwrap_or_default(),
                )
            }
        };
        Bearer { user, groups, units }
    }

    fn own_name(&self, agent: &str) -> String {
        if agent.is_empty() {
            return agent_user(self.cluster, self.addon);
        }
        format!("{}{agent}", agent_user_prefix(self.cluster, self.addon))
    }
}

impl Certificate<'_> {
    /// Returns the signer.
    pub(super) fn signer(&self) -> &str {
        match self {
            Self::OfTheHub => KUBE_CLIENT_SIGNER,
            Self::OfOwnSigner { signer, .. } => signer,
        }
    }

    /// Returns whether it is that of a client of the hub.
    pub(super) fn is_of_the_hub(&self) -> bool {
        match self {
            Self::OfTheHub => true,
            Self::OfOwnSigner { .. } => false,
        }
    }
}

fn is_client(one: &Registration) -> bool {
    match one {
        Registration::KubeClient(_) => true,
        Registration::CustomSigner { .. } | Registration::Faulty(_) => false,
    }
}

/// Permissions are no part of a certificate.
fn is_same(one: &Registration, other: &Registration) -> bool {
    is_client(one) && is_client(other) || one == other
}

/// The signer for clients of the hub is no add-on's own, whatever a template says.
fn certificate(one: &Registration) -> Option<Certificate<'_>> {
    match one {
        Registration::KubeClient(_) => Some(Certificate::OfTheHub),
        Registration::CustomSigner {
            signer,
            identity,
            ca_namespace,
            ca_name,
        } if **signer != *KUBE_CLIENT_SIGNER => Some(Certificate::OfOwnSigner {
            signer,
            subject: match identity {
                AgentIdentity::Stated(subject) => Some(subject),
                AgentIdentity::Open | AgentIdentity::Agent => None,
            },
            ca_namespace,
            ca_name,
        }),
        Registration::CustomSigner { .. } | Registration::Faulty(_) => None,
    }
}
