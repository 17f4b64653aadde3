//! Departures from a node: to another agent, to a phone, or to another node that stands for this agent.

use super::moving::Moving;
use crate::{
    agent::{NumberTransfer, TransferDestination, UsableTransfer},
    workflow::{
        graph::{NodeKind, PhoneDestination},
        step::HandOver,
    },
};

impl PhoneDestination {
    /// Returns the name of the variable that holds it, if one does.
    pub(crate) fn variable(&self) -> Option<&str> {
        match self {
            Self::PhoneDynamicVariable { phone_number: name } | Self::SipUriDynamicVariable { sip_uri: name } => {
                Some(name)
            }
            Self::Phone { .. } | Self::SipUri { .. } => None,
        }
    }

    /// Returns the transfer, to `held` if a variable holds the destination; none if it cannot be dialed.
    pub(crate) fn usable(&self, transfer_type: Option<&str>, held: Option<String>) -> Option<UsableTransfer> {
        let (kind, phone_number, sip_uri) = match self {
            Self::Phone { phone_number } => ("phone", Some(phone_number.clone()), None),
            Self::PhoneDynamicVariable { .. } => ("phone", held, None),
            Self::SipUri { sip_uri } => ("sip_uri", None, Some(sip_uri.clone())),
            Self::SipUriDynamicVariable { .. } => ("sip_uri", None, held),
        };
        UsableTransfer::of(&NumberTransfer {
            transfer_type: transfer_type.map(str::to_owned),
            condition: None,
            transfer_destination: TransferDestination {
                kind: Some(kind.to_owned()),
                phone_number,
                sip_uri,
            },
        })
    }
}

impl<'a> Moving<'a> {
    /// Returns the node of this graph that the present node leads to, if it stands for this agent.
    pub(super) fn jump_target(&self) -> Option<&'a str> {
        match self.kind()? {
            NodeKind::StandaloneAgent {
                agent_id: None,
                node_id,
                ..
            } => match node_id {
                Some(entry) => self.graph.node(entry).map(|_| entry.as_str()),
                None => self.graph.start(),
            },
            _ => None,
        }
    }

    /// Returns the hand-over of the present node; none if it is refused.
    pub(super) fn hand_over(&self) -> Option<HandOver> {
        let NodeKind::StandaloneAgent {
            agent_id,
            node_id,
            delay_ms,
            transfer_message,
            enable_transferred_agent_first_message: greets,
        } = self.kind()?
        else {
            return None;
        };
        let agent = agent_id.as_deref()?.parse().ok()?;
        let is_loop = self.graph.prevents_loops && self.walk.agents.contains(&agent);
        (!is_loop).then(|| HandOver {
            agent,
            entry: node_id.clone(),
            delay_ms: *delay_ms,
            message: transfer_message.clone(),
            greets: *greets,
        })
    }

    /// Returns the transfer of the present node; none if its destination cannot be dialed.
    pub(super) fn transfer(&self) -> Option<UsableTransfer> {
        let NodeKind::PhoneNumber {
            transfer_destination: to,
            transfer_type,
        } = self.kind()?
        else {
            return None;
        };
        let held = to.variable().and_then(|name| self.walk.texts(self.known).remove(name));
        to.usable(transfer_type.as_deref(), held)
    }
}
